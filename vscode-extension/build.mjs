// Bundles the extension, collects the licences of what went into the bundle, and lists the texts to translate.
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';

const { metafile } = await build({
  entryPoints: ['src/extension.ts', 'src/library.ts', 'src/uninstall.ts'],
  outdir: 'dist',
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  supported: { 'dynamic-import': false }, // becomes a require at the time of the call
  external: ['vscode', './library'],
  minify: true,
  sourcemap: 'external',
  metafile: true,
  logLevel: 'warning',
});

function packageOf(file) {
  const folder = dirname(file);
  return existsSync(join(folder, 'package.json')) && JSON.parse(readFileSync(join(folder, 'package.json'))).name
    ? folder
    : packageOf(folder);
}

const inputs = Object.keys(metafile.inputs).filter((file) => file.includes('node_modules/'));
const notices = [...new Set(inputs.map(packageOf))].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json')));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}\n`;
});
writeFileSync('dist/THIRD-PARTY-NOTICES.txt', notices.join(`\n${'-'.repeat(80)}\n\n`));

// Every text of the sources is the key of its translation: t('…') with a literal in single quotes.
const texts = readdirSync('src', { recursive: true })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) =>
    [...readFileSync(join('src', file), 'utf8').matchAll(/\bt\(\s*'((?:[^'\\]|\\.)*)'/g)].map(([, text]) =>
      text.replace(/\\(.)/g, '$1'),
    ),
  );
mkdirSync('l10n', { recursive: true });
const bundle = Object.fromEntries([...new Set(texts)].sort().map((text) => [text, text]));
writeFileSync('l10n/bundle.l10n.json', `${JSON.stringify(bundle, undefined, 2)}\n`);

copyFileSync('../CHANGELOG.md', 'CHANGELOG.md'); // the marketplace shows the extension's own

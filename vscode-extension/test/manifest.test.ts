import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

import { GUTTER, HEATS } from '../src/suspects/heat';
import { serverCommands } from '../src/protocol';

interface Manifest {
  extensionKind: string[];
  browser?: string;
  capabilities: {
    untrustedWorkspaces: { supported: string; restrictedConfigurations: string[] };
    virtualWorkspaces: { supported: boolean; description: string };
  };
  contributes: {
    commands: { command: string }[];
    configuration: { title: string; properties: Record<string, unknown> }[];
    menus: unknown;
    keybindings: { key: string; mac: string; when: string }[];
    walkthroughs: { steps: { media: { svg: string } }[] }[];
    colors: { id: string; defaults: Record<string, string> }[];
  };
}

const read = (file: string) => JSON.parse(readFileSync(join(import.meta.dirname, '..', file), 'utf8')) as unknown;
const manifest = read('package.json') as Manifest;
const texts = read('package.nls.json') as Record<string, string>;
const commands = manifest.contributes.commands.map(({ command }) => command);

describe('the manifest', () => {
  it('contributes a command of its own for every server command', () => {
    const own = Object.values(serverCommands).map((id) => id.replace('suspectra.server.', 'suspectra.'));
    expect(commands).toEqual(expect.arrayContaining(own));
  });

  it('never claims an id that belongs to the server', () => {
    expect(commands.filter((id) => Object.values<string>(serverCommands).includes(id))).toEqual([]);
  });

  it('refers only to commands that exist', () => {
    const text = JSON.stringify([
      manifest.contributes.menus,
      manifest.contributes.keybindings,
      manifest.contributes.walkthroughs,
      texts,
    ]);
    const used = [...text.matchAll(/(?:"command":"|\bcommand:|onCommand:)(suspectra\.[\w.]+)/g)].map(
      ([, id]) => id ?? '',
    );
    expect(used).toContain('suspectra.runTests');
    const views = ['suspectra.suspects.focus']; // VS Code makes one for each view
    expect([...new Set(used)].filter((id) => ![...commands, ...views].includes(id))).toEqual([]);
  });

  it('runs where the code is, and says why it does not without a file system', () => {
    expect(manifest.extensionKind).toEqual(['workspace']); // of SSH, WSL and containers, there
    expect(manifest.browser).toBeUndefined();
    const { supported, description } = manifest.capabilities.virtualWorkspaces;
    expect(supported).toBe(false);
    expect(texts[description.replaceAll('%', '')]).toContain('from the file system');
  });

  it('has a heading for what few people change', () => {
    const [general, experiments, advanced] = manifest.contributes.configuration;
    expect(general?.title).toBe('Suspectra');
    expect(texts[experiments?.title.replaceAll('%', '') ?? '']).toBe('Experiments');
    expect(texts[advanced?.title.replaceAll('%', '') ?? '']).toBe('Advanced');
    expect(Object.keys(advanced?.properties ?? {})).toEqual([
      'suspectra.pJump',
      'suspectra.jumpWeightSameFunction',
      'suspectra.jumpWeightControlFlow',
      'suspectra.jumpWeightCalls',
      'suspectra.learnJumps',
    ]);
  });

  it('declares workspace trust, and restricts what would start a program', () => {
    const { supported, restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
    expect(supported).toBe('limited');
    expect(restrictedConfigurations).toEqual(
      expect.arrayContaining(['suspectra.interpreter', 'suspectra.testCommand']),
    );
  });

  it('has all its texts where they can be translated', () => {
    const used = [...JSON.stringify(manifest).matchAll(/"%([\w.-]+)%"/g)].map(([, key]) => key);
    expect([...new Set(used)].sort()).toEqual(Object.keys(texts).sort());
    const shown = /"(?:title|description|markdownDescription|contents|altText|label)":"(?!%)[^"]+"/g;
    // a schema is for a language model, and in English
    const own = JSON.stringify(manifest, (key, value: unknown) => (key === 'inputSchema' ? undefined : value))
      .match(shown)
      ?.filter((text) => !['"title":"Suspectra"'].includes(text));
    expect(own).toEqual([]);
  });

  it('binds chords, and only while there are suspects', () => {
    for (const { key, mac, when } of manifest.contributes.keybindings) {
      expect(key).toMatch(/^ctrl\+; \w$/);
      expect(mac).toBe(key.replace('ctrl', 'cmd'));
      expect(when).toMatch(/^suspectra\.hasSuspects\b/);
    }
  });

  it('has a picture for each step of the walkthrough', () => {
    const steps = manifest.contributes.walkthroughs.flatMap(({ steps }) => steps);
    expect(steps).toHaveLength(5);
    for (const { media } of steps) {
      expect(readFileSync(join(import.meta.dirname, '..', media.svg), 'utf8')).toMatch(/^<svg xmlns=/);
    }
  });
});

describe('the colours', () => {
  // the default themes: background, text, and the palest of their syntax colours
  const themes = {
    dark: { background: '#1f1f1f', text: ['#cccccc', '#6a9955'] },
    light: { background: '#ffffff', text: ['#3b3b3b', '#008000'] },
    highContrast: { background: '#000000', text: ['#ffffff', '#7ca668'] },
    highContrastLight: { background: '#ffffff', text: ['#292929', '#515151'] },
  };
  const { colors } = manifest.contributes;

  const texts = ['suspectra.finding', 'suspectra.reason'];

  it('are five degrees, each for marks and for backgrounds, and those of texts at the ends of lines', () => {
    const ids = HEATS.flatMap((heat) => [`suspectra.heat${heat}`, `suspectra.heat${heat}Background`]);
    expect(colors.map(({ id }) => id).sort()).toEqual([...ids, ...texts].sort());
  });

  it.each(Object.entries(themes))('pass in %s', (theme, { background, text }) => {
    for (const { id, defaults } of colors) {
      const color = defaults[theme] ?? '';
      if (id.endsWith('Background')) {
        const behind = over(color, background);
        // WCAG 2: 4.5 for text; what starts below that must lose little
        for (const ink of text) {
          expect(contrast(ink, behind), `${ink} on ${id}`).toBeGreaterThan(
            Math.min(4.5, 0.8 * contrast(ink, background)),
          );
        }
      } else {
        // WCAG 2: 4.5 for text, 3 for graphics
        expect(contrast(color, background), id).toBeGreaterThan(texts.includes(id) ? 4.5 : 3);
      }
    }
  });

  it('are those of the gutter', () => {
    for (const theme of ['dark', 'light'] as const) {
      for (const heat of HEATS) {
        expect(colors.find(({ id }) => id === `suspectra.heat${heat}`)?.defaults[theme]).toBe(GUTTER[theme][heat]);
      }
    }
  });
});

describe('the texts of the sources', () => {
  const folder = join(import.meta.dirname, '../src');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const files = names.map((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    return ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  });

  it('are listed for translation', () => {
    const bundle = read('l10n/bundle.l10n.json') as Record<string, string>;
    const used = files.flatMap((file) =>
      [...file.text.matchAll(/\bt\(\s*'((?:[^'\\]|\\.)*)'/g)].map(([, text]) => text),
    );
    expect(Object.keys(bundle)).toEqual([...new Set(used)].sort());
  });

  it('can be translated wherever a person reads them', () => {
    // the output channel is read by those who fix what is wrong, not by every reader
    const reports = /^(?:this\.output\.\w+|output\.\w+|log|warn)$/;
    const sentences: string[] = [];
    const visit = (node: ts.Node): void => {
      const called = ts.isCallExpression(node) ? node.expression.getText() : '';
      if (reports.test(called) || (ts.isVariableDeclaration(node) && /^(?:STYLE|SCRIPT)$/.test(node.name.getText()))) {
        return;
      }
      if (ts.isCallExpression(node) && called === 't') {
        node.arguments.slice(1).forEach(visit); // what is filled in may contain a text of its own
        return;
      }
      if (ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
        const words = node.text.replace(/<[^>]*>?/g, ' ').trim();
        if (/^[A-Z][a-z]* [a-z“]/.test(words)) {
          sentences.push(`${node.getSourceFile().fileName}: ${words}`);
        }
      }
      ts.forEachChild(node, visit);
    };
    files.forEach(visit);
    expect(sentences).toEqual([]);
  });
});

type Rgb = [number, number, number];

function rgb(color: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as Rgb;
}

/** A colour with transparency laid over a background. */
function over(color: string, background: string): string {
  const alpha = Number.parseInt(color.slice(7) || 'ff', 16) / 255;
  const behind = rgb(background);
  const mixed = rgb(color).map((part, i) => Math.round(part * alpha + (behind[i] ?? 0) * (1 - alpha)));
  return `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/** The contrast ratio of WCAG 2. */
function contrast(one: string, other: string): number {
  const luminance = (color: string) => {
    const [r, g, b] = rgb(color).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    }) as Rgb;
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (bright + 0.05) / (dark + 0.05);
}

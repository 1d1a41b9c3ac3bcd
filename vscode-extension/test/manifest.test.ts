import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { serverCommands } from '../src/protocol';

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'));
const commands: string[] = manifest.contributes.commands.map((item: { command: string }) => item.command);

describe('the manifest', () => {
  it('contributes a command of its own for every server command', () => {
    const own = Object.values(serverCommands).map((id) => id.replace('suspectra.', 'suspectra.ui.'));
    expect(commands).toEqual(expect.arrayContaining(own));
  });

  it('never claims an id that belongs to the server', () => {
    expect(commands.filter((id) => Object.values<string>(serverCommands).includes(id))).toEqual([]);
  });

  it('refers only to commands that exist', () => {
    const text = JSON.stringify([manifest.contributes.menus, manifest.contributes.viewsWelcome]);
    const used = [...text.matchAll(/suspectra\.ui\.\w+/g)].map(([id]) => id);
    expect([...new Set(used)].filter((id) => !commands.includes(id))).toEqual([]);
  });

  it('declares workspace trust, and restricts what would start a program', () => {
    const { supported, restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
    expect(supported).toBe('limited');
    expect(restrictedConfigurations).toEqual(expect.arrayContaining(['suspectra.interpreter', 'suspectra.testCommand']));
  });
});

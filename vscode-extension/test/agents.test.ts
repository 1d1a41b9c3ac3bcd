import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as vscode from 'vscode';

import { registerAgentTools } from '../src/agents/agentTools';
import { registerMcpServer } from '../src/agents/mcpServer';
import { methods } from '../src/protocol';
import { lm } from './standins/lm';
import { ScriptedServer, status } from './standins/server';
import { workbench } from './standins/workbench';

interface Declared {
  name: string;
  modelDescription: string;
}
const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  contributes: { languageModelTools: Declared[]; mcpServerDefinitionProviders: { id: string }[] };
};
const declared = manifest.contributes.languageModelTools;
const token = new vscode.CancellationTokenSource().token;

let server: ScriptedServer;
let all: vscode.Disposable;

beforeEach(() => {
  workbench.reset('/project');
  server = new ScriptedServer();
  all = vscode.Disposable.from(
    registerAgentTools(server.server, declared),
    registerMcpServer(server.server, '/extension'),
  );
});
afterEach(() => {
  all.dispose();
});

describe('the tools of language models', () => {
  const tool = (name: string) => {
    const found = lm.tools.get(`suspectra_${name}`);
    if (!found) {
      throw new Error(`there is no tool ${name}`);
    }
    return found;
  };

  it('are those that the manifest declares, and tell what is data', () => {
    expect([...lm.tools.keys()]).toEqual(declared.map(({ name }) => name));
    expect(declared).toHaveLength(10);
    expect(declared.every(({ modelDescription }) => modelDescription.includes('data, never instructions'))).toBe(true);
    all.dispose();
    expect(lm.tools.size).toBe(0);
  });

  it('are answered by the server', async () => {
    server.answers[methods.agentAnswer] = { text: '{"notice": ""}' };
    workbench.edit('/project/cart.py', 3);
    const result = await tool('rank').invoke({ input: { top: 3 } }, token);
    expect(server.calls).toEqual([
      [methods.agentAnswer, { tool: 'rank', arguments: { top: 3 }, folder: 'file:///project' }],
    ]);
    expect(result).toEqual({ content: [{ value: '{"notice": ""}' }] });
  });

  it('pass on why there is no answer', async () => {
    server.answers[methods.agentAnswer] = () => {
      throw new Error('No folder is open.');
    };
    await expect(tool('rank').invoke({ input: {} }, token)).rejects.toThrow('No folder is open.');
  });

  it('ask before anything runs, and never before reading', () => {
    const asking = [...lm.tools].filter(([, one]) => 'confirmationMessages' in one.prepareInvocation());
    const names = ['why', 'run_tests', 'investigate', 'causes'].map((tool) => `suspectra_${tool}`);
    expect(asking.map(([name]) => name)).toEqual(names);
  });
});

describe('the MCP server', () => {
  const program = { command: process.execPath, args: [], origin: '' };
  const provider = () => lm.providers.get(manifest.contributes.mcpServerDefinitionProviders[0]?.id ?? '');

  it('is started by the interpreter of the language server, away from the workspace', async () => {
    server.program = program;
    workbench.settings['suspectra.testInterpreter'] = '/venv/bin/python';
    expect(await provider()?.provideMcpServerDefinitions()).toMatchObject([
      {
        label: 'Suspectra',
        command: process.execPath,
        args: ['-m', 'suspectra', 'mcp', '--workspace', '/project', '--', '/venv/bin/python', '-m', 'pytest'],
        cwd: { path: '/extension' },
      },
    ]);
  });

  it('is there for each folder of a trusted workspace, once the interpreter is known', async () => {
    let changes = 0;
    provider()?.onDidChangeMcpServerDefinitions(() => (changes += 1));
    expect(await provider()?.provideMcpServerDefinitions()).toEqual([]);
    server.program = program;
    server.changed.fire(status);
    server.changed.fire(status);
    expect(changes).toBe(1);
    workbench.workspace.isTrusted = false;
    expect(await provider()?.provideMcpServerDefinitions()).toEqual([]);
  });

  it('says what to install where the package mcp is missing', async () => {
    server.program = program; // which is Node: it can't import anything
    const resolve = provider()?.resolveMcpServerDefinition({});
    await expect(resolve).rejects.toThrow("-m pip install 'suspectra[mcp]'");
  });
});

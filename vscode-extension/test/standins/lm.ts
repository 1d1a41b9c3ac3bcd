/** Stands in for `vscode.lm`. */

import type * as api from 'vscode';

import { values } from './events';

interface Tool {
  prepareInvocation: () => object;
  invoke: (options: object, token: unknown) => Promise<unknown>;
}
interface McpProvider {
  onDidChangeMcpServerDefinitions: (listener: () => unknown) => unknown;
  provideMcpServerDefinitions: () => Promise<unknown[]>;
  resolveMcpServerDefinition: (definition: object) => Promise<unknown>;
}

function register<Value>(registered: Map<string, Value>, id: string, value: Value): api.Disposable {
  registered.set(id, value);
  return new values.Disposable(() => registered.delete(id));
}

/** What language models can use. */
export const lm = {
  tools: new Map<string, Tool>(),
  providers: new Map<string, McpProvider>(),
  registerTool: (name: string, tool: Tool) => register(lm.tools, name, tool),
  registerMcpServerDefinitionProvider: (id: string, provider: McpProvider) => register(lm.providers, id, provider),
};

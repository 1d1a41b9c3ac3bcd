// The client library asks Node for the module `vscode`, past the alias of the test runner: it gets the same one.
import Module from 'node:module';

import * as vscode from 'vscode';

type Load = (request: string, ...more: unknown[]) => unknown;

const modules = Module as unknown as { _load: Load };
const load = modules._load;
modules._load = (request, ...more) => (request === 'vscode' ? vscode : load(request, ...more));

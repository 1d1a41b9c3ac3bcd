/** Run by VS Code once the extension has been uninstalled, without VS Code itself. */

import * as path from 'node:path';

import { removeEnvironments } from './environment/storage';

removeEnvironments(path.dirname(__dirname));

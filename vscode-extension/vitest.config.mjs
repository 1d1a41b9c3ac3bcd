import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    alias: { vscode: join(import.meta.dirname, 'test/standins/vscode.ts') },
    setupFiles: ['test/standins/setup.ts'],
  },
});

import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    alias: { vscode: join(import.meta.dirname, 'test/standins/vscode.ts') },
    testTimeout: 60_000, // never reached but by a failure, however busy the machine is
    setupFiles: ['test/standins/setup.ts'],
  },
});

import { afterEach, beforeEach, expect, it } from 'vitest';

import { NativeProject } from '../src/environment/nativeProject';
import { workbench } from './standins/workbench';

let project: NativeProject;
let became: number;

beforeEach(() => {
  workbench.reset('/project');
  became = 0;
});
afterEach(() => project.dispose());

const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

/** The contexts that menus look at, in a workspace with these files. */
async function opened(...files: string[]): Promise<unknown[]> {
  workbench.files = files;
  project = new NativeProject(() => (became += 1));
  await settled();
  return contexts();
}

const contexts = () => ['canConfigure', 'onlyNative'].map((name) => workbench.context[`suspectra.${name}`]);

it.each(['CMakeLists.txt', 'meson.build', 'configure.ac'])('offers to build what has %s and no build', async (file) => {
  expect(await opened(file, 'src/a.c')).toEqual([true, true]);
  expect(became).toBe(0); // it was one from the start
});

it('offers nothing where there is a build, wherever build folders are', async () => {
  const builds = ['CTestTestfile.cmake', 'build/CTestTestfile.cmake', 'out/debug/CTestTestfile.cmake', 'config.status'];
  for (const build of [...builds, 'b/meson-private/coredata.dat']) {
    expect(await opened('CMakeLists.txt', build), build).toEqual([false, false]);
    project.dispose();
  }
});

it('offers nothing for Python alone, nor for a project below a folder', async () => {
  expect(await opened('pyproject.toml', 'tests/test_a.py')).toEqual([false, false]);
  project.dispose();
  expect(await opened('vendored/CMakeLists.txt')).toEqual([false, false]);
});

it('knows that a project has tests of Python, too', async () => {
  expect(await opened('CMakeLists.txt', 'setup.py')).toEqual([true, false]);
  project.dispose();
  expect(await opened('CMakeLists.txt', 'tests/test_binding.py')).toEqual([true, false]);
});

it('notices what is made and deleted, and says that a workspace became such a project', async () => {
  expect(await opened('setup.py')).toEqual([false, false]);
  workbench.files = ['setup.py', 'CMakeLists.txt'];
  workbench.created.fire(undefined);
  await settled();
  expect(contexts()).toEqual([true, false]);
  expect(became).toBeGreaterThan(0);
  workbench.files = ['setup.py', 'CMakeLists.txt', 'build/CTestTestfile.cmake'];
  const before = became;
  workbench.created.fire(undefined);
  await settled();
  expect(contexts()).toEqual([false, false]);
  expect(became).toBe(before);
  workbench.files = ['setup.py', 'CMakeLists.txt'];
  workbench.deleted.fire(undefined);
  await settled();
  expect(contexts()).toEqual([true, false]);
});

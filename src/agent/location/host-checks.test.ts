import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { descriptorCheck } from './host-checks.ts';

it('knows nothing of descriptors, and the agent goes on, where the kernel does not say', () => {
  const folder = mkdtempSync(join(tmpdir(), 'picket-proc-'));
  try {
    expect(descriptorCheck(folder).look()).toEqual({ state: 'unknown' });
    // As in a chroot of debootstrap, whose /proc is a link to itself.
    symlinkSync('limits', join(folder, 'limits'));
    expect(descriptorCheck(folder).look()).toEqual({ state: 'unknown' });
    expect(descriptorCheck().look()).toEqual({ state: 'healthy' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

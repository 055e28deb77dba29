import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const module = fileURLToPath(new URL('./log-destination.ts', import.meta.url));
const program = (body: string) =>
  `const { standardOutput } = await import(${JSON.stringify(module)}); const output = standardOutput(); ${body}`;

describe('standard output', () => {
  let folder: string;
  let pipe: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'picket-log-'));
    pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  /** A full pipe without a reader. */
  function fullPipe(): { readonly reader: number; readonly writer: number } {
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const writer = openSync(pipe, constants.O_WRONLY);
    const filler = Buffer.alloc(4096, 'x');
    for (;;) {
      try {
        writeSync(reader, filler);
      } catch (thrown) {
        expect(thrown).toMatchObject({ code: 'EAGAIN' });
        return { reader, writer };
      }
    }
  }

  async function run(body: string, stdout: number): Promise<{ code: number | null; stderr: string }> {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program(body)], {
      stdio: ['ignore', stdout, 'pipe'],
    });
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    return { code, stderr };
  }

  it('blocks neither the process nor its exit without a reader', async () => {
    const { reader, writer } = fullPipe();
    const { code, stderr } = await run(
      `for (let n = 0; n < 3000; n++) output.write('y'.repeat(1000) + '\\n');
       setTimeout(async () => { console.error('alive'); await output.close(100); process.exitCode = 3; }, 50);`,
      writer,
    );
    expect({ code, stderr }).toEqual({ code: 3, stderr: 'alive\n' });
    closeSync(reader);
    closeSync(writer);
  });

  it('writes everything before it is closed', async () => {
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const writer = openSync(pipe, constants.O_WRONLY);
    const { code } = await run(
      "output.write('one\\n'); output.write('two\\n'); await output.close(5000);",
      writer,
    );
    expect(code).toBe(0);
    const buffer = Buffer.alloc(100);
    expect(buffer.subarray(0, readSync(reader, buffer)).toString()).toBe('one\ntwo\n');
    closeSync(reader);
    closeSync(writer);
  });

  it('tolerates a reader that disconnects', async () => {
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(pipe, constants.O_WRONLY);
    closeSync(reader);
    const { code } = await run(
      "output.write('one\\n'); setTimeout(() => output.write('two\\n'), 20); setTimeout(() => output.close(100), 40);",
      writer,
    );
    expect(code).toBe(0);
    closeSync(writer);
  });

  it('writes to files', async () => {
    const file = openSync(join(folder, 'log'), 'w+');
    const { code } = await run("output.write('one\\n'); await output.close(5000);", file);
    expect(code).toBe(0);
    const buffer = Buffer.alloc(100);
    expect(buffer.subarray(0, readSync(file, buffer, 0, 100, 0)).toString()).toBe('one\n');
    closeSync(file);
  });
});

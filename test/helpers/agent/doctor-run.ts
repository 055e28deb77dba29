import { spawn } from 'node:child_process';
import type { Finding } from '../../../src/agent/doctor/examination.ts';
import { program, programEnvironment } from '../program.ts';

export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly exitCode: number | null;
  /** Problems as `examination` or `examination ABOUT`. */
  readonly problems: readonly string[];
  /** The first problem. */
  readonly problem: Finding | undefined;
  finding(examination: string, about?: string): Finding | undefined;
}

/** A wrapper command for `picket doctor` and a shell preparation that together cause the fault. */
export interface Ward {
  /** Shell code that runs in its own mount namespace. */
  readonly preparation?: string;
  /** Command and arguments that run the doctor. */
  readonly wrapper?: readonly string[];
}

/** Runs `picket doctor --json` with only these variables, PATH and the key. */
export async function diagnose(
  environment: Readonly<Record<string, string>>,
  { preparation, wrapper = [] }: Ward = {},
): Promise<Diagnosis> {
  const doctor = [...wrapper, process.execPath, program, 'doctor', '--json'];
  const [command = '', ...args] =
    preparation === undefined
      ? doctor
      : [
          'unshare',
          '--mount',
          '--propagation',
          'private',
          '/bin/sh',
          '-ec',
          `${preparation}\nexec "$@"`,
          'ward',
          ...doctor,
        ];
  const child = spawn(command, args, {
    env: {
      ...programEnvironment,
      API_KEY: 'pl_0123456789abcdef',
      AGENT_HEALTH_PORT: '0',
      // Scripts are examined only if a test names the runtimes.
      ...('RUNTIMES_DIR' in environment ? {} : { CHECK_TYPES: 'URL,API,DNS,TCP,ICMP' }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  let findings: readonly Finding[];
  try {
    ({ findings } = JSON.parse(output) as { findings: readonly Finding[] });
  } catch {
    throw new Error(`picket doctor printed no JSON:\n${output}\n${errors}`);
  }
  const bad = findings.filter(({ status }) => status === 'problem');
  return {
    findings,
    exitCode,
    problems: bad.map(({ examination, about }) => [examination, about].filter(Boolean).join(' ')),
    problem: bad[0],
    finding: (examination, about) =>
      findings.find((one) => one.examination === examination && (about === undefined || one.about === about)),
  };
}

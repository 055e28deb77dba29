import { expect, it } from 'vitest';
import { checkTypes } from '../../../../src/checks/index.ts';
import { sampleOf } from '../../../helpers/night.ts';
import type { Samples } from '../samples/samples.ts';
import type { StoreStage } from './stage.ts';

/** Hours with a value in every field. */
export const hoursOf = (variant: number) => ({
  timeZone: variant === 1 ? 'Europe/Berlin' : 'America/New_York',
  mode: variant === 1 ? 'RUN' : 'PAUSE',
  windows: [{ weekdays: ['MON', 'SUN'], from: '08:00', to: `1${variant}:30` }],
  holidays: [`2099-0${variant}-24/2100-01-01`],
});

/** The fields of types that agents run. */
const timing = (variant: number) => ({
  schedule: { cron: `${variant} 9,17 * * *`, onCalendar: null, timeZone: 'UTC' },
  frequencyWhileFailing: variant === 1 ? 10 : 5,
  activeHours: hoursOf(variant),
});

/** Every common field with a value other than its default. */
export const common = (variant: number) => ({
  activated: false,
  muted: variant === 1,
  tags: ['deployed', `v${variant}`],
  description: `Variant ${variant}`,
  groupOrder: variant,
  runParallel: variant === 1,
  useGlobalAlertSettings: false,
  alertSettings: {
    escalationType: 'TIME_BASED',
    timeBasedEscalation: { minutesFailingThreshold: variant === 1 ? 10 : 15 },
    reminders: { amount: variant, interval: 10 },
  },
  retryStrategy: {
    type: variant === 1 ? 'LINEAR' : 'EXPONENTIAL',
    baseBackoffSeconds: 10 * variant,
    maxRetries: variant,
    maxDurationSeconds: 100,
    sameRegion: false,
  },
  environmentVariables: [{ key: 'PLACE', value: `v${variant}`, locked: false, secret: false }],
});

/** A deployment writes exactly what its code defines, for every type of check. */
export function deployedFieldSuite(stage: StoreStage): void {
  it('deploys every type of check with every common field, finds no drift, and changes what changes', async () => {
    await stage.start();
    stage.harness.startDeployments();
    const { call } = stage.harness;
    const types = sampleOf(checkTypes, 9);
    const projectOf = async (variant: number) => {
      const resources = await Promise.all(
        types.map(async (type) => {
          const { samples } = (await import(`../samples/${type.route}.ts`)) as { readonly samples: Samples };
          const { retryStrategy, ...others } = common(variant);
          // Suites retry their tests themselves.
          const isSuite = type.name === 'PLAYWRIGHT';
          const timed = type.pings ? {} : timing(variant);
          const fields = isSuite ? { ...others, ...timed } : { ...others, ...timed, retryStrategy };
          const payload = { name: type.title, ...fields, ...samples.minimal, checkType: type.name };
          return { type: 'check', logicalId: type.route, payload };
        }),
      );
      return { project: { logicalId: 'project', name: 'Project' }, resources };
    };
    const deploy = async (variant: number) => {
      const started = await call('POST', '/v1/projects/deploy', await projectOf(variant));
      const deployment = await stage.deploymentEnded(started);
      expect(deployment.error).toBeNull();
      return deployment.result.diff as { logicalId: string; physicalId: string; action: string }[];
    };
    const readBack = async (diff: Awaited<ReturnType<typeof deploy>>, variant: number) => {
      const { resources } = await projectOf(variant);
      for (const { logicalId, physicalId } of diff) {
        const payload = resources.find((one) => one.logicalId === logicalId)?.payload;
        const { body } = await call('GET', `/v1/checks/${physicalId}`);
        const { environmentVariables: _, ...shown } = payload ?? {};
        expect(body).toMatchObject(shown);
      }
    };
    const created = await deploy(1);
    expect(created.map(({ action }) => action)).toEqual(types.map(() => 'CREATE'));
    await readBack(created, 1);
    expect(await deploy(1)).toEqual([]);
    const changed = await deploy(2);
    expect(changed.map(({ action }) => action)).toEqual(types.map(() => 'UPDATE'));
    await readBack(changed, 2);
    expect(await deploy(2)).toEqual([]);
  });
}

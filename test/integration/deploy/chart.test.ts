import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { startCommands } from '../../../src/console/locations/commands.ts';
import { packageVersion } from '../../../src/lib/version.ts';
import { expectFitting, type KubernetesObject } from './agreement.ts';
import { chartValues, type Values, wrongValues } from './chart-values.ts';
import { findHelm } from './helm-program.ts';
import { typeErrorsOf } from './object-types.ts';

const chartFolder = join(import.meta.dirname, '../../../deploy/helm/picket');
const helm = await findHelm();

function template(values: Values): { readonly status: number | null; readonly output: string } {
  const args = ['template', 'lab', chartFolder, '--namespace', 'monitoring', '--values', '-'];
  const { status, stdout, stderr } = spawnSync(helm ?? 'helm', args, {
    input: JSON.stringify(values),
    encoding: 'utf8',
  });
  return { status, output: status === 0 ? stdout : stderr };
}

function rendered(values: Values): KubernetesObject[] {
  const { status, output } = template(values);
  expect(status, output).toBe(0);
  return parseAllDocuments(output)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

it('the chart has this version', () => {
  const chart = parse(readFileSync(join(chartFolder, 'Chart.yaml'), 'utf8')) as { appVersion: string };
  expect(chart.appVersion).toBe(packageVersion());
});

describe.skipIf(helm === undefined)(`the Helm chart${helm ? '' : ' (helm is not installed)'}`, () => {
  it('is well-formed', () => {
    const values = JSON.stringify(chartValues['an agent']);
    execFileSync(helm ?? 'helm', ['lint', chartFolder, '--values', '-'], { input: values });
  });

  it('has no field that Kubernetes and KEDA do not know', () => {
    expect(typeErrorsOf(Object.values(chartValues).flatMap(rendered))).toEqual([]);
  });

  it.each(Object.entries(chartValues))(
    'is consistent with itself and the configuration with the values of %s',
    (_, values) => {
      const objects = rendered(values);
      expect(objects.length).toBeGreaterThan(1);
      expectFitting(objects);
    },
  );

  it('takes the command that the page of a location shows', () => {
    const service = { url: 'https://picket.example.com/base', isLoopback: false };
    const key = 'pl_0123456789abcdef0123456789abcdef';
    const { steps = [] } =
      startCommands({ key, service, name: 'office-1' }).find(({ id }) => id === 'kubernetes') ?? {};
    const shown = steps
      .map(({ text }) => text)
      .find((text) => text.startsWith('helm upgrade --install office-1 '));
    const words = (shown ?? '').replaceAll('\\\n', ' ').split(/\s+/).slice(3);
    const args = words.filter((word) => word !== '--create-namespace');
    const { status, stdout, stderr } = spawnSync(helm ?? 'helm', ['template', ...args], {
      cwd: join(chartFolder, '../../..'),
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as KubernetesObject);
    expect(typeErrorsOf(objects)).toEqual([]);
    expectFitting(objects);
    expect(stdout).toContain(key);
    expect(stdout).toContain(service.url);
  });

  it('replaces the pods when the key in its values is another, and not for a secret that exists', () => {
    const annotationsWith = (values: Values) => {
      const agent = { serviceUrl: 'http://picket', ...values };
      const deployment = rendered({ agent }).find(({ kind }) => kind === 'Deployment') as unknown as {
        readonly spec: { readonly template: { readonly metadata: { readonly annotations: Values } } };
      };
      return deployment.spec.template.metadata.annotations;
    };
    const name = 'checksum/location-key';
    const [first, second] = ['pl_1', 'pl_2'].map((apiKey) => annotationsWith({ apiKey })[name]);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(second).not.toBe(first);
    expect(annotationsWith({ existingSecret: 'key' })).not.toHaveProperty([name]);
  });

  it("gives KEDA a name of the chart's service that resolves in other namespaces", () => {
    const agent = { existingSecret: 'key', autoscaling: { enabled: true, location: 'office' } };
    const scaled = rendered({ agent, service: { enabled: true } }).find(
      ({ kind }) => kind === 'ScaledObject',
    );
    expect(JSON.stringify(scaled)).toContain('"url":"http://lab-picket-service.monitoring:8080/metrics"');
  });

  it.each(wrongValues)('refuses values with $says', ({ values, says }) => {
    expect(template(values).output).toMatch(says);
  });

  it.each([{ agent: { replica: 3 } }, { agent: { jobConcurrency: 11 } }, { image: { digest: 'latest' } }])(
    'refuses the unknown or impossible value %j',
    (values) => {
      const agent = { serviceUrl: 'http://picket', existingSecret: 'key', ...values.agent };
      expect(template({ ...values, agent }).status).not.toBe(0);
    },
  );
});

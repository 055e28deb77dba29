import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { packageVersion } from '../../src/lib/version.ts';
import { expectWhole } from './agreement.ts';
import { chartValues, type Values, wrongValues } from './chart-values.ts';
import { TemplateSet } from './go-template.ts';

const folder = join(import.meta.dirname, '../../deploy/helm/picket');
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const chart = parse(read('Chart.yaml')) as { appVersion: string; version: string; name: string };
const defaults = parse(read('values.yaml')) as Values;
const validate = new Ajv({ strict: false }).compile(JSON.parse(read('values.schema.json')) as object);

/** Values as Helm puts them together: objects are merged, everything else is replaced. */
function merged(base: unknown, over: unknown): unknown {
  const isPlain = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isPlain(base) || !isPlain(over)) return over;
  const names = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries(
    [...names].map((name) => [name, name in over ? merged(base[name], over[name]) : base[name]]),
  );
}

/** The objects the chart makes of some values. @throws TemplateFailure */
function render(values: Values): unknown[] {
  const all = merged(defaults, values);
  expect(validate(all) ? [] : validate.errors).toEqual([]);
  const templates = new TemplateSet();
  const data = {
    Values: all,
    Chart: { Name: chart.name, AppVersion: chart.appVersion },
    Release: { Name: 'lab', Namespace: 'monitoring', Service: 'Helm' },
  };
  const files = readdirSync(join(folder, 'templates')).sort();
  const rendered = files.map((name) => ({ name, render: templates.parse(read(`templates/${name}`)) }));
  return rendered
    .filter(({ name }) => name.endsWith('.yaml'))
    .flatMap(({ render: one }) => parseAllDocuments(one(data)))
    .map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as unknown;
    })
    .filter((object) => object !== null);
}

describe('the Helm chart', () => {
  it('is of this version', () => {
    expect(chart.appVersion).toBe(packageVersion());
  });

  it.each(Object.entries(chartValues))('makes whole objects of the values of %s', (_, values) => {
    const objects = expectWhole(render(values));
    expect(objects.length).toBeGreaterThan(1);
  });

  it('reads each of its values', () => {
    const inUse = new Set<string>();
    const seen = (value: unknown, path: string): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? new Proxy(value as object, {
            get: (target, name) => {
              const inner = Reflect.get(target, name) as unknown;
              if (typeof name !== 'string') return inner;
              inUse.add(`${path}${name}`);
              return seen(inner, `${path}${name}.`);
            },
          })
        : value;
    for (const values of Object.values(chartValues)) {
      const templates = new TemplateSet();
      const files = readdirSync(join(folder, 'templates')).sort();
      const all = files.map((name) => templates.parse(read(`templates/${name}`)));
      const data = { Values: seen(merged(defaults, values), ''), Chart: chart, Release: { Name: 'lab' } };
      for (const one of all) one(data);
    }
    const leaves = (value: unknown, path: string): string[] =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
        ? Object.entries(value).flatMap(([name, inner]) =>
            leaves(inner, path === '' ? name : `${path}.${name}`),
          )
        : [path];
    const unused = leaves(defaults, '').filter(
      (path) =>
        !inUse.has(path) && ![...inUse].some((used) => path.startsWith(`${used}.`) && isPassedOn(used)),
    );
    expect(unused).toEqual([]);
  });

  it.each(wrongValues)('refuses values with $says', ({ values, says }) => {
    expect(() => render(values)).toThrow(says);
  });

  it('refuses values that it does not know', () => {
    expect(validate(merged(defaults, { agent: { replica: 3 } }))).toBe(false);
    expect(validate(merged(defaults, { agent: { jobConcurrency: 11 } }))).toBe(false);
    expect(validate(merged(defaults, { image: { digest: 'latest' } }))).toBe(false);
  });

  it('is not taken in by misspelt fields', () => {
    const objects = render(chartValues['an agent'] ?? {});
    const text = JSON.stringify(objects);
    for (const [right, wrong] of [
      ['"runAsNonRoot"', '"runAsNonRot"'],
      ['"readinessProbe"', '"readinesProbe"'],
      ['"SHUTDOWN_GRACE_SECONDS"', '"SHUTDOWN_GRACE_SECOND"'],
      ['"terminationGracePeriodSeconds":330', '"terminationGracePeriodSeconds":300'],
      ['"name":"spool","mountPath"', '"name":"spol","mountPath"'],
    ] as const) {
      expect(text).toContain(right);
      const broken = JSON.parse(text.replace(right, wrong)) as unknown[];
      expect(() => expectWhole(broken), wrong).toThrow();
    }
  });
});

/** Values that go into the object as they are. */
function isPassedOn(path: string): boolean {
  return /(resources|settings|podAnnotations|nodeSelector|tolerations|affinity)$/.test(path);
}

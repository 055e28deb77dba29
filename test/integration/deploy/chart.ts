import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import type { Values } from './chart-values.ts';
import { TemplateSet } from './go-template.ts';

/** Where the chart is. */
export const chartFolder = join(import.meta.dirname, '../../../deploy/helm/picket');
/** The text of one of its files. */
export const readOfChart = (name: string) => readFileSync(join(chartFolder, name), 'utf8');
export const chart = parse(readOfChart('Chart.yaml')) as {
  appVersion: string;
  version: string;
  name: string;
};
/** values.yaml. */
export const defaultValues = parse(readOfChart('values.yaml')) as Values;
/** Whether values are as values.schema.json wants them. */
export const areValidValues = new Ajv({ strict: false }).compile(
  JSON.parse(readOfChart('values.schema.json')) as object,
);

/** Values as Helm puts them together: objects are merged, everything else is replaced. */
export function merged(base: unknown, over: unknown): unknown {
  const isPlain = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isPlain(base) || !isPlain(over)) return over;
  const names = new Set([...Object.keys(base), ...Object.keys(over)]);
  return Object.fromEntries(
    [...names].map((name) => [name, name in over ? merged(base[name], over[name]) : base[name]]),
  );
}

/** The objects the chart makes of some values. @throws TemplateFailure */
export function renderChart(values: Values): unknown[] {
  const all = merged(defaultValues, values);
  expect(areValidValues(all) ? [] : areValidValues.errors).toEqual([]);
  const templates = new TemplateSet();
  const data = {
    Values: all,
    Chart: { Name: chart.name, AppVersion: chart.appVersion },
    Release: { Name: 'lab', Namespace: 'monitoring', Service: 'Helm' },
  };
  const files = readdirSync(join(chartFolder, 'templates')).sort();
  const rendered = files.map((name) => ({ name, render: templates.parse(readOfChart(`templates/${name}`)) }));
  return rendered
    .filter(({ name }) => name.endsWith('.yaml'))
    .flatMap(({ render: one }) => parseAllDocuments(one(data)))
    .map((document) => {
      expect(document.errors).toEqual([]);
      return document.toJS() as unknown;
    })
    .filter((object) => object !== null);
}

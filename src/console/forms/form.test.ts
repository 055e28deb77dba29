import { channelKinds } from '@picket/channels/index.ts';
import { DashboardInput } from '@picket/protocol/pages/dashboard.ts';
import { MaintenanceWindowInput } from '@picket/protocol/pages/maintenance-window.ts';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Form } from './form.ts';

const configs = channelKinds.map(({ type, config }) => [type, config] as const);

describe.each([
  ['dashboards', DashboardInput] as const,
  ['windows', MaintenanceWindowInput] as const,
  ...configs,
])('the form of %s', (_name, schema) => {
  it('describes, if unchanged, the default value of its schema', () => {
    const form = new Form(schema, {});
    const made = form.object(form.defaults());
    for (const [key, field] of Object.entries(schema.shape)) {
      const { success, data } = z.safeParse(field as z.ZodType, undefined);
      // A form does not distinguish an empty text from a missing one.
      if (success) expect([key, z.parse(field as z.ZodType, made[key]) ?? '']).toEqual([key, data ?? '']);
    }
  });
});

describe('a form', () => {
  const schema = z.object({
    name: z.string(),
    count: z.int().default(3),
    numbers: z.array(z.int()).default([]),
    token: z.string().nullable().default(null),
    pairs: z.array(z.object({ key: z.string(), value: z.string() })).default([]),
    part: z
      .object({ text: z.string().default('a') })
      .nullable()
      .default(null),
    hidden: z.string().default('x'),
  });
  const form = new Form(
    schema,
    {
      'of.token': { isSecret: true },
      'of.part': { boxLabel: 'Has a part' },
      'of.hidden': { isHidden: true },
    },
    'of.',
  );
  const stored = {
    name: 'one',
    numbers: [1, 2],
    token: '',
    pairs: [{ key: 'k', value: 'v' }],
    part: { text: 'b' },
  };
  const sent = (changes: Readonly<Record<string, string>> = {}) => {
    const values = form.values(stored);
    for (const [name, value] of Object.entries(changes)) values.set(`of.${name}`, value);
    return values;
  };

  it('describes what it shows, without hidden values', () => {
    expect(form.object(sent(), stored)).toEqual({ ...stored, count: undefined });
  });

  it('leaves empty fields at their default', () => {
    expect(form.object(sent({ count: '' }))).not.toHaveProperty('count');
    expect(form.object(sent({ count: 'many' }))).toMatchObject({ count: 'many' });
  });

  it('reads lists of numbers, and leaves other values for the schema to refuse', () => {
    expect(form.object(sent({ numbers: '5\r\nsix' }))).toMatchObject({ numbers: [5, 'six'] });
  });

  it('keeps a stored secret when its field is empty, even if it is not part of the shown values', () => {
    const { token: _token, ...others } = stored;
    expect(form.object(sent(), others)).toMatchObject({ token: '' });
    expect(form.object(sent({ token: 't' }), others)).toMatchObject({ token: 't' });
    expect(form.object(sent())).toMatchObject({ token: null });
    expect(String(form.view({ values: sent({ token: 't' }) }))).not.toContain('value="t"');
  });

  it('removes rows that were emptied, including the last one', () => {
    expect(form.object(sent({ 'pairs.0.key': '', 'pairs.0.value': '' }), stored)).toMatchObject({
      pairs: [],
    });
  });

  it('has a box for an optional object', () => {
    expect(String(form.view({ values: sent() }))).toMatch(/name="of.part" value="object" checked/);
    expect(form.object(sent({ part: '' }), stored)).toMatchObject({ part: null });
  });
});

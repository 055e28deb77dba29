import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { CommonFields } from '@picket/checks/contract/definition/common-fields.ts';
import { commonForm } from '@picket/checks/contract/definition/common-form.ts';
import { type FormLayout, type Topic, topics } from '@picket/checks/contract/definition/form-layout.ts';
import { fieldsWithoutEffect } from '@picket/service/checks/warnings/without-effect.ts';
import { type Field, fieldsOf } from '../forms/field.ts';
import { failingPeriodWords, periodWords, withFormFields } from './adapters.ts';

/** A part of a form: its first level, or a topic below it that is folded. */
export interface Section {
  readonly topic: Topic | 'first';
  readonly title: string;
  readonly fields: readonly Field[];
}

/** A form: its fields and their layout. */
export interface FormPlan {
  readonly fields: readonly Field[];
  readonly sections: readonly Section[];
  readonly layout: FormLayout;
}

const titles: Readonly<Record<Topic, string>> = {
  request: 'Request',
  assertions: 'Assertions',
  limits: 'Limits',
  schedule: 'Schedule and retries',
  alerts: 'Alerts',
  grouping: 'Tags, group and dependencies',
  scripts: 'Variables and scripts',
  further: 'Further',
};

/** Topics without effect for types that no agent runs. */
const topicsOfRuns: readonly (Topic | undefined)[] = ['schedule', 'scripts'];

/** Returns the form of a check type: the fields of its schema in layout order, without those that have no effect. */
export function checkPlan(type: CheckType): FormPlan {
  const layout: FormLayout = {
    ...commonForm,
    frequency: { ...commonForm['frequency'], words: periodWords },
    frequencyWhileFailing: { ...commonForm['frequencyWhileFailing'], words: failingPeriodWords },
    ...type.form,
    ...withoutEffect(type),
  };
  const own = type.spec.shape;
  const all = fieldsOf({ ...CommonFields.shape, ...own });
  const fields = withFormFields(all).map((field) => arranged(field, layout));
  const isOwn = ({ key }: Field) => key in own && !(key in CommonFields.shape);
  const title = 'request' in own ? titles.request : type.title;
  return { fields, layout, sections: sectionsOf(fields, { layout, isOwn, title }) };
}

/** Splits fields into the first level and topics. */
export function sectionsOf(
  fields: readonly Field[],
  form: {
    readonly layout: FormLayout;
    /** Whether a field belongs to the subject of the form, and not to every one. */
    readonly isOwn: (field: Field) => boolean;
    /** Title of the fields of that subject. */
    readonly title: string;
  },
): Section[] {
  const { layout, isOwn } = form;
  const isShown = ({ kind }: Field) => kind !== 'fixed';
  const order = Object.keys(layout);
  const place = ({ pattern }: Field) => (pattern in layout ? order.indexOf(pattern) : order.length);
  const inOrder = (some: readonly Field[]) => some.toSorted((left, right) => place(left) - place(right));
  // The parts of a definition are shown one below the other.
  const own = fields
    .filter((field) => isShown(field) && isOwn(field))
    .flatMap((field) => (field.kind === 'part' ? field.fields : [field]));
  const common = fields.filter((field) => isShown(field) && !isOwn(field));
  const ownFirst = inOrder(own.flatMap((field) => firstIn(field, layout)));
  const commonFirst = inOrder(common.flatMap((field) => firstIn(field, layout)));
  const isNamed = ownFirst.some(({ pattern }) => layout[pattern]?.names);
  const first = isNamed
    ? [...ownFirst, ...commonFirst]
    : [...commonFirst.slice(0, 1), ...ownFirst, ...commonFirst.slice(1)];
  const topicOf = (field: Field) =>
    layout[field.pattern]?.topic ?? (own.includes(field) ? 'request' : 'further');
  const rest = Map.groupBy([...own, ...inOrder(common)], topicOf);
  return [
    { topic: 'first' as const, title: '', fields: first },
    ...topics.map((topic) => ({
      topic,
      title: topic === 'request' ? form.title : titles[topic],
      fields: (rest.get(topic) ?? []).flatMap((field) => withoutFirst(field, layout)),
    })),
  ].filter((section) => section.fields.some(isShown));
}

/** Returns the fields of the first level in a field or its parts. */
function firstIn(field: Field, layout: FormLayout): Field[] {
  if (field.kind === 'fixed') return [];
  if (layout[field.pattern]?.isFirst) return [field];
  return field.kind === 'part' ? field.fields.flatMap((one) => firstIn(one, layout)) : [];
}

/** Returns a field without those of the first level; nothing if no other is left. */
function withoutFirst(field: Field, layout: FormLayout): Field[] {
  if (field.kind === 'fixed' || layout[field.pattern]?.isFirst) return [];
  if (field.kind !== 'part') return [field];
  const fields = field.fields.flatMap((one) => withoutFirst(one, layout));
  return fields.length === 0 ? [] : [{ ...field, fields }];
}

/** Hides the fields that a type does not use. */
function withoutEffect(type: CheckType): FormLayout {
  const ofRuns = Object.keys(commonForm).filter((key) => topicsOfRuns.includes(commonForm[key]?.topic));
  const hidden = [
    ...(type.pings ? ofRuns : []),
    ...(type.hasNetworkErrors ? [] : ['retryStrategy.onlyOn']),
    ...fieldsWithoutEffect(type),
  ];
  return Object.fromEntries(hidden.map((path) => [path, { isHidden: true }]));
}

/** Sorts the inner fields of a field by the layout; hidden ones keep their values. */
export function arranged(field: Field, layout: FormLayout): Field {
  if (layout[field.pattern]?.isHidden) return { ...field, kind: 'fixed' } as Field;
  if (!('fields' in field)) return field;
  const order = Object.keys(layout);
  const place = ({ pattern }: Field) => (pattern in layout ? order.indexOf(pattern) : order.length);
  const fields = field.fields
    .map((one) => arranged(one, layout))
    .toSorted((left, right) => place(left) - place(right));
  const pickedBy = layout[field.pattern]?.pickedBy;
  const pick = fields.find(({ key }) => key === pickedBy);
  if (field.kind !== 'variant' || !pick) return { ...field, fields };
  return { ...field, fields: fields.filter((one) => one !== pick), pick };
}

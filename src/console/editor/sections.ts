import type { CheckType } from '@picket/checks/contract/check-type.ts';
import { CommonFields } from '@picket/checks/contract/definition/common-fields.ts';
import { commonForm } from '@picket/checks/contract/definition/common-form.ts';
import type { FormLayout } from '@picket/checks/contract/definition/form-layout.ts';
import { fieldsWithoutEffect } from '@picket/service/checks/warnings/without-effect.ts';
import { type Field, fieldsOf } from '../forms/field.ts';
import { periodWords, withFormFields } from './adapters.ts';

/** A part of a form, with its heading. */
export interface Section {
  readonly title: string;
  readonly fields: readonly Field[];
  /** Folded until a user opens it, or one of its fields has a problem. */
  readonly isFolded?: boolean;
}

/** A form: its fields and their layout. */
export interface FormPlan {
  readonly fields: readonly Field[];
  readonly sections: readonly Section[];
  readonly layout: FormLayout;
}

const identity = ['name', 'description', 'activated', 'tags', 'groupId'];
const schedule = [
  'privateLocations',
  'locations',
  'frequency',
  'runParallel',
  'retryStrategy',
  'doubleCheck',
  'concurrency',
];
const alerts = [
  'alertChannelSubscriptions',
  'muted',
  'useGlobalAlertSettings',
  'alertSettings',
  'parentCheckIds',
  'triggerIncident',
];
const scripts = [
  'environmentVariables',
  'runtimeId',
  'setupSnippetId',
  'localSetupScript',
  'tearDownSnippetId',
  'localTearDownScript',
];
const limit = /^shouldFail$|Threshold$|ResponseTime$/;

/** Returns the form of a check type: the fields of its schema in layout order, without those that have no effect. */
export function checkPlan(type: CheckType): FormPlan {
  const layout: FormLayout = {
    ...commonForm,
    frequency: { ...commonForm['frequency'], words: periodWords },
    ...type.form,
    ...withoutEffect(type),
  };
  const own = type.spec.shape;
  const all = fieldsOf({ ...CommonFields.shape, ...own });
  const fields = withFormFields(all).map((field) => arranged(field, layout));
  return { fields, layout, sections: sectionsOf(fields, { title: 'Check', ofType: type.title, own }) };
}

/** Groups fields under headings: those common to all checks, and those of the type. */
export function sectionsOf(
  fields: readonly Field[],
  names: {
    readonly title: string;
    readonly ofType: string;
    readonly own?: Readonly<Record<string, unknown>>;
  },
): Section[] {
  const shown = fields.filter(({ kind }) => kind !== 'fixed');
  const named = (keys: readonly string[]) =>
    keys.flatMap((key) => shown.filter((field) => field.key === key));
  const taken = [...identity, ...schedule, ...alerts, ...scripts];
  const others = shown.filter(({ key }) => !taken.includes(key));
  const isOwn = ({ key, kind }: Field) => (names.own ? key in names.own : kind === 'part');
  // The parts of a definition are shown one below the other.
  const own = others
    .filter(isOwn)
    .flatMap((field) => (field.kind === 'part' ? field.fields : [field]))
    .filter(({ kind }) => kind !== 'fixed');
  const isAssertions = ({ key }: Field) => key === 'assertions';
  return [
    { title: names.title, fields: named(identity) },
    { title: names.ofType, fields: own.filter((one) => !isAssertions(one) && !limit.test(one.key)) },
    { title: 'Assertions', fields: own.filter(isAssertions) },
    { title: 'Alerting', fields: own.filter(({ key }) => limit.test(key)) },
    { title: 'Schedule', fields: named(schedule) },
    { title: 'Alerts', fields: named(alerts) },
    { title: 'Variables and scripts', fields: named(scripts), isFolded: true },
    { title: 'Further settings', fields: others.filter((field) => !isOwn(field)), isFolded: true },
  ].filter((section) => section.fields.length > 0);
}

/** Hides the fields that a type does not use. */
function withoutEffect(type: CheckType): FormLayout {
  const hidden = [
    ...(type.pings ? [...schedule, ...scripts] : []),
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
  const fields = field.fields.map((one) => arranged(one, layout));
  return { ...field, fields: fields.toSorted((left, right) => place(left) - place(right)) };
}

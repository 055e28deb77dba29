import { lazySchema } from '@picket/lib/schemas/lazy-schema.ts';
import { z } from 'zod';

const shortText = z.string().min(1).max(500);

/** Element of the page that a step acts on or inspects, located in exactly one of five ways. */
export const Target = lazySchema(() =>
  z
    .strictObject({
      role: z.string().min(1).max(50).optional().describe('Role in the accessibility tree, such as button'),
      name: z.string().max(500).optional().describe('Accessible name; only with role'),
      isExact: z.boolean().optional().describe('false: the name or text may be a substring'),
      label: shortText.optional().describe('Label of a field'),
      placeholder: shortText.optional(),
      text: shortText.optional().describe('Text of the element'),
      css: shortText.optional().describe('CSS selector; only if nothing else identifies the element'),
      nth: z.int().min(0).max(1000).optional().describe('Index among several matches, from 0'),
      frame: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('Name or number of the frame, as in the snapshot'),
    })
    .refine(
      ({ role, label, placeholder, text, css }) =>
        [role, label, placeholder, text, css].filter((way) => way !== undefined).length === 1,
      'must have exactly one of "role", "label", "placeholder", "text" and "css"',
    ),
);
export type Target = z.output<typeof Target.schema>;

export const subjects = [
  'text',
  'value',
  'count',
  'visible',
  'url',
  'title',
  'status',
  'dialog',
  'response_status',
  'response_body',
] as const;
/** Subjects that refer to an element. */
export const targetedSubjects: readonly string[] = ['text', 'value', 'count', 'visible'];
export const comparisons = [
  'EQUALS',
  'NOT_EQUALS',
  'CONTAINS',
  'NOT_CONTAINS',
  'GREATER_THAN',
  'LESS_THAN',
] as const;

const makeInputs = () => {
  const act = { target: Target.schema };
  return {
    open: z.strictObject({ url: z.string().min(1).max(4096) }),
    click: z.strictObject({
      ...act,
      dialog: z.enum(['accept', 'dismiss']).optional().describe('Response to a dialog that the click opens'),
      dialogText: z.string().max(500).optional(),
    }),
    fill: z.strictObject({ ...act, value: z.string().max(4000) }),
    select: z.strictObject({ ...act, option: z.string().max(500).describe('Value or label of the option') }),
    check: z.strictObject({ ...act, isChecked: z.boolean() }),
    press: z.strictObject({ ...act, key: z.string().min(1).max(50).describe('Key name, such as Enter') }),
    upload: z.strictObject({
      ...act,
      fileName: z.string().regex(/^[\w. -]{1,100}$/),
      content: z.string().max(20_000),
    }),
    tab: z.strictObject({ index: z.int().min(0).max(50) }),
    request: z.strictObject({
      method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
      url: z.string().min(1).max(4096),
      headers: z.record(z.string().max(100), z.string().max(4000)).default({}),
      body: z.string().max(50_000).optional(),
    }),
    assert: z
      .strictObject({
        condition: z.string().min(1).max(500).describe('The verified condition in words'),
        subject: z.enum(subjects),
        target: Target.schema.optional().describe('Required for text, value, count and visible'),
        property: z.string().max(500).optional().describe('JSON path into response_body, such as $.total'),
        comparison: z.enum(comparisons),
        expected: z.string().max(4000),
      })
      .refine(
        ({ subject, target }) => targetedSubjects.includes(subject) === (target !== undefined),
        'must have a target for text, value, count and visible, and no target otherwise',
      )
      .refine(
        ({ comparison, expected }) =>
          expected !== '' || comparison === 'EQUALS' || comparison === 'NOT_EQUALS',
        'must have an expected value: every text contains the empty text',
      ),
    judge: z.strictObject({
      question: z
        .string()
        .min(1)
        .max(1000)
        .describe('Question to judge; yes means that the page is as expected'),
    }),
    screenshot: z.strictObject({ name: z.string().regex(/^[\w-]{1,50}$/) }),
  } as const;
};

let inputs: ReturnType<typeof makeInputs> | undefined;

/** Input of each tool that makes a step of a plan. Texts may hold `{{NAME}}`. */
export function stepInputs(): ReturnType<typeof makeInputs> {
  inputs ??= makeInputs();
  return inputs;
}

export type StepTool = keyof ReturnType<typeof makeInputs>;

const step = <Tool extends StepTool>(tool: Tool) =>
  z.object({ tool: z.literal(tool), input: stepInputs()[tool] });

/** One step of a plan: a tool and its input. */
export const PlanStep = lazySchema(() =>
  z.discriminatedUnion('tool', [
    step('open'),
    step('click'),
    step('fill'),
    step('select'),
    step('check'),
    step('press'),
    step('upload'),
    step('tab'),
    step('request'),
    step('assert'),
    step('judge'),
    step('screenshot'),
  ]),
);
export type PlanStep = z.output<typeof PlanStep.schema>;
export type AssertStep = Extract<PlanStep, { tool: 'assert' }>;

/** Whether a step verifies something; healing must not drop such steps. */
export function isVerifying({ tool }: PlanStep): boolean {
  return tool === 'assert' || tool === 'judge';
}

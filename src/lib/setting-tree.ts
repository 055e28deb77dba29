import { z } from 'zod';

/** One setting: its variable and its schema. */
export interface Setting<Schema extends z.ZodType = z.ZodType> {
  readonly variable: string;
  readonly schema: Schema;
}

/** Settings by the names that the program uses; each declares its variable, type, default and description once. */
export interface SettingTree {
  readonly [name: string]: Setting | SettingTree;
}

/** Values of a tree once it is read. */
export type Values<Tree> =
  Tree extends Setting<infer Schema>
    ? z.output<Schema>
    : { readonly [Name in keyof Tree]: Values<Tree[Name]> };

export function setting<Schema extends z.ZodType>(
  variable: string,
  schema: Schema,
  description: string,
): Setting<Schema> {
  return { variable, schema: schema.describe(description) };
}

/** Schema of a variable that is a whole number within limits. */
export function wholeNumber(options: {
  readonly min: number;
  readonly max: number;
  readonly default: number;
}) {
  return z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from ${options.min} to ${options.max}`)
    .transform(Number)
    .pipe(
      z
        .number()
        .min(options.min, `must be at least ${options.min}`)
        .max(options.max, `must be at most ${options.max}`),
    )
    .default(options.default);
}

function isSetting(node: Setting | SettingTree): node is Setting {
  return typeof node.variable === 'string';
}

/** Returns the variables of a tree, for one schema of all of them. */
export function shapeOf(tree: SettingTree): Record<string, z.ZodType> {
  return Object.assign(
    {},
    ...Object.values(tree).map((node) =>
      isSetting(node) ? { [node.variable]: node.schema } : shapeOf(node),
    ),
  );
}

/** Returns the values of a tree from the variables that `readEnvironment` has read. */
export function valuesOf<Tree extends SettingTree>(
  tree: Tree,
  variables: Readonly<Record<string, unknown>>,
): Values<Tree> {
  const entries = Object.entries(tree).map(([name, node]) => [
    name,
    isSetting(node) ? variables[node.variable] : valuesOf(node, variables),
  ]);
  return Object.fromEntries(entries) as Values<Tree>;
}

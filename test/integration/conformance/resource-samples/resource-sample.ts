/** A body that creates or changes a resource. */
export type ResourceBody = Readonly<Record<string, unknown>>;

/**
 * What the conformance suite needs to know about one plain account resource. Each has a file here named after
 * it in the registry that exports `sample`; the suites find it through the registry.
 */
export interface ResourceSample {
  /** Bodies that create two of them, and differ in what has to be unique. */
  readonly bodies: readonly [ResourceBody, ResourceBody];
  /** Changes some fields of the first; absent for resources that never change. */
  readonly change?: ResourceBody;
  /**
   * Bodies that are refused, by the field that is named. Wrong JSON types need no entry: the suite derives
   * those.
   */
  readonly refused?: Readonly<Record<string, ResourceBody>>;
  /** Fields that are written and never shown, or not as they were written. */
  readonly hidden?: readonly string[];
}

/** Whether a model provider rejects a request because of the model's name. */
export function isAboutModel(refusal: string): boolean {
  return /model/i.test(refusal);
}

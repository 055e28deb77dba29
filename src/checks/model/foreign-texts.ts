/** Whether a provider of models refuses a request because of the model that it names. */
export function isAboutModel(refusal: string): boolean {
  return /model/i.test(refusal);
}

/** Texts of zod, whose issues have no field for what these say. */

/** Whether zod itself worded the message of an issue: what a schema of ours says is a sentence. */
export function isZodsOwn(message: string): boolean {
  return /^(Invalid|Too) /.test(message);
}

/** Whether an issue of the type `invalid_type` is about a value that is missing. */
export function isAboutMissingValue(message: string): boolean {
  return message.endsWith('received undefined');
}

/** Message texts of zod, for facts that its issues have no field for. */

/** Whether zod itself worded the message of an issue; our schemas' messages are sentences. */
export function isZodsOwn(message: string): boolean {
  return /^(Invalid|Too) /.test(message);
}

/** Whether an `invalid_type` issue is about a missing value. */
export function isAboutMissingValue(message: string): boolean {
  return message.endsWith('received undefined');
}

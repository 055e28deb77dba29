/** What a command that asks a service could not do, in words for the person at the terminal. */
export class ApiError extends Error {
  /** Whether what was typed is wrong; else the service said no, or did not answer. */
  readonly isBadInput: boolean;

  constructor(message: string, isBadInput = false) {
    super(message);
    this.name = 'ApiError';
    this.isBadInput = isBadInput;
  }
}

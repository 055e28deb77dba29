import type { SecretReason } from '@picket/checks/contract/failure-details.ts';
import { beginningOf } from '@picket/lib/text.ts';

const maxMessageLength = 300;

/** A secret that cannot be read from its provider. The message never contains output of a command or a value. */
export class ReferenceProblem extends Error {
  readonly reason: SecretReason;
  /** HTTP status of the provider, or exit code of the command. */
  readonly status: number | undefined;

  constructor(reason: SecretReason, message: string, status?: number) {
    super(beginningOf(message, maxMessageLength));
    this.name = 'ReferenceProblem';
    this.reason = reason;
    this.status = status;
  }
}

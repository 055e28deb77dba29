import { parentPort } from 'node:worker_threads';
import { templateProblems, webhookRequest } from '@picket/channels/webhook/request.ts';
import { TemplateError } from '@picket/checks/judging/templating.ts';
import { toError } from '@picket/lib/errors.ts';
import type { TemplateReply, TemplateWork } from './template-thread.ts';

/** Worker thread that renders webhook templates. See template-thread.ts. */
const port = parentPort;
if (!port) throw new Error('this file is the entry of a worker thread');

port.on('message', (work: TemplateWork) => port.postMessage(reply(work)));
port.postMessage({ kind: 'ready' } satisfies TemplateReply);

function reply(work: TemplateWork): TemplateReply {
  try {
    return work.kind === 'request'
      ? { kind: 'request', request: webhookRequest(work.config, work.message, work.now) }
      : { kind: 'problems', problems: templateProblems(work.config) };
  } catch (thrown) {
    const { message, stack = '' } = toError(thrown);
    return { kind: 'failed', isTemplate: thrown instanceof TemplateError, message, stack };
  }
}

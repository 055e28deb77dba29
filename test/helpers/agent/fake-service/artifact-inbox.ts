import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** One upload of an artifact, as far as it came. */
export interface ArtifactCall {
  readonly runId: string;
  readonly name: string;
  readonly leaseNumber: number;
  readonly headers: IncomingMessage['headers'];
  receivedBytes: number;
}

export interface ArtifactBehaviour {
  /** Reset the connection when that many bytes have come. */
  readonly breakAtBytes?: number;
  /** Store it, then reset the connection instead of answering. */
  readonly isAnswerLost?: boolean;
  readonly statusCode?: number;
  /** Read on only when this is over. */
  readonly untilResumed?: Promise<void>;
}

const artifactPath = /^\/v1\/agent\/runs\/([^/]+)\/artifacts\/(.+)$/;

/** The part of a fake service that takes artifacts. */
export class ArtifactInbox {
  /** Artifacts that came in whole, by `runId/name`. */
  readonly stored = new Map<string, Buffer>();
  readonly calls: ArtifactCall[] = [];
  /** What happens to the nth upload; undefined means that it is stored. */
  script: ((call: ArtifactCall, index: number) => ArtifactBehaviour | undefined) | undefined;
  readonly #onEvent: () => void;

  /** @param onEvent called whenever something has come. */
  constructor(onEvent: () => void) {
    this.#onEvent = onEvent;
  }

  /** Takes a request if it is one of ours; says whether it was. */
  async take(url: URL, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const path = artifactPath.exec(url.pathname);
    if (path) await this.#take(path, url, request, response);
    return path !== null;
  }

  async #take(
    [, runId = '', encoded = '']: RegExpExecArray,
    url: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const name = decodeURIComponent(encoded);
    const leaseNumber = Number(url.searchParams.get('leaseNumber'));
    const call: ArtifactCall = { runId, name, leaseNumber, headers: request.headers, receivedBytes: 0 };
    const behaviour = this.script?.(call, this.calls.length) ?? {};
    this.calls.push(call);
    this.#onEvent();
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) {
        call.receivedBytes += (chunk as Buffer).length;
        chunks.push(chunk as Buffer);
        if (call.receivedBytes >= (behaviour.breakAtBytes ?? Number.POSITIVE_INFINITY)) {
          request.socket.resetAndDestroy();
          return;
        }
        if (behaviour.untilResumed) await behaviour.untilResumed;
      }
    } catch {
      // The agent went away in the middle.
      return;
    }
    const bytes = Buffer.concat(chunks);
    const { statusCode = 200, isAnswerLost = false } = behaviour;
    if (statusCode === 200) this.stored.set(`${runId}/${name}`, bytes);
    this.#onEvent();
    if (isAnswerLost) {
      request.socket.resetAndDestroy();
      return;
    }
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const body =
      statusCode === 200
        ? { status: 'stored', sizeBytes: bytes.length, sha256 }
        : { statusCode, error: 'Scripted', message: `scripted ${statusCode}` };
    response.writeHead(statusCode, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}

import type { Clock } from '@picket/lib/clock.ts';
import type { ArtifactStore } from '@picket/platform/artifact-store/artifact-store.ts';
import type { KeyRole } from '@picket/platform/ids/keys.ts';
import type { Answer } from '@picket/platform/operations/answer.ts';
import type { Operations } from '@picket/platform/operations/operations.ts';
import type { Store } from '@picket/platform/store/store.ts';
import type { Viewer } from '@picket/service/logins/sessions.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FileLinks } from './artifacts/links.ts';
import type { Assets } from './assets.ts';
import type { Html } from './html.ts';

/** A request of a page, by somebody who may see it. */
export interface PageCall {
  readonly viewer: Viewer;
  /** Parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The fields of the form that was sent; empty for GET. */
  readonly form: URLSearchParams;
  /** Calls operations of the API as the viewer: their account, their role, the same validation. */
  readonly api: Operations;
  /** Addresses under which files of runs open. */
  readonly links: FileLinks;
  readonly store: Store;
  readonly artifactStore: ArtifactStore;
  readonly clock: Clock;
  /** The files that documents load. */
  readonly assets: Assets;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** What a page shows between header and footer. */
export interface View {
  /** In place of the title of the registry. */
  readonly title?: string;
  readonly main: Html;
  /** 200 when absent; 422 for a form that is shown again with what is wrong in it. */
  readonly statusCode?: number;
  /** The page changes by itself when results come in. */
  readonly isLive?: boolean;
  /** Then it follows one check only. */
  readonly liveCheckId?: string;
  /** The version of the account's statuses that it shows, where it is older than the request. */
  readonly version?: number;
}

/** What a handler answers: a view, another place to go to, a file of an operation, or nothing because it answered by itself. */
export type PageAnswer = View | { readonly goTo: string } | { readonly file: Answer } | 'answered';

/**
 * A page: one line in registry.ts. What the role of the viewer does not allow is refused before the handler
 * is called, and so is a form without its CSRF token.
 */
export interface Page {
  /** POST for what a form of a page does. */
  readonly method?: 'GET' | 'POST';
  /** With `:name` for parameters, `*` at the end for the rest. */
  readonly path: string;
  readonly title: string;
  /** The least role that may see it. */
  readonly role: KeyRole;
  /** The word in the navigation; pages without one are reached from others. */
  readonly navigation?: string;
  readonly handler: (call: PageCall) => Promise<PageAnswer>;
}

/** What the forms of an area do, by the end of its path; each changes something. */
export function posts(
  base: string,
  all: Readonly<Record<string, readonly [title: string, handler: Page['handler']]>>,
): Page[] {
  return Object.entries(all).map(([end, [title, handler]]) => ({
    method: 'POST',
    path: `${base}${end}`,
    title,
    role: 'READ_WRITE',
    handler,
  }));
}

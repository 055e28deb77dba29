import type { ScriptFile } from '@picket/checks/contract/lifecycle.ts';
import type { LifecycleScript } from '@picket/protocol/agent/agent.ts';

/** A script that checks share. */
interface Snippet {
  readonly id: number;
  readonly name: string;
  readonly script: string;
}

/** Fields in which a check or a group names its setup and teardown scripts. */
interface ScriptFields {
  readonly setupSnippetId?: number | null;
  readonly tearDownSnippetId?: number | null;
  readonly localSetupScript?: string | null;
  readonly localTearDownScript?: string | null;
  readonly setupScriptPath?: string | null;
  readonly setupScriptDependencies?: readonly ScriptFile[] | null;
  readonly tearDownScriptPath?: string | null;
  readonly tearDownScriptDependencies?: readonly ScriptFile[] | null;
}

export interface LifecycleScripts {
  readonly setup: LifecycleScript[];
  readonly teardown: LifecycleScript[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Whether a check or its group names any setup or teardown script. */
export function namesScripts(check: Fields, group: Fields | undefined): boolean {
  const { setup, teardown } = lifecycleScripts(check, group, []);
  return setup.length + teardown.length > 0;
}

/**
 * Setup and teardown scripts of a run in order of execution (check model 2.6): setup of the group, setup of the check,
 * the run, teardown of the check, teardown of the group. If both a snippet and an inline script are set, the snippet
 * comes first.
 */
export function lifecycleScripts(
  check: Fields,
  group: Fields | undefined,
  snippets: readonly Snippet[],
): LifecycleScripts {
  const own = check as ScriptFields;
  const shared = (group ?? {}) as ScriptFields;
  const phase = (
    level: string,
    snippetId: unknown,
    local: unknown,
    files: Pick<LifecycleScript, 'path' | 'files'> = {},
  ): LifecycleScript[] => [
    ...(typeof snippetId === 'number' ? [scriptOf(level, snippetId, snippets)] : []),
    ...(typeof local === 'string' && local.trim() !== ''
      ? [{ name: `script of the ${level}`, script: local, ...files }]
      : []),
  ];
  return {
    setup: [
      ...phase('group', shared.setupSnippetId, shared.localSetupScript),
      ...phase(
        'check',
        own.setupSnippetId,
        own.localSetupScript,
        scriptFiles(own.setupScriptPath, own.setupScriptDependencies),
      ),
    ],
    teardown: [
      ...phase(
        'check',
        own.tearDownSnippetId,
        own.localTearDownScript,
        scriptFiles(own.tearDownScriptPath, own.tearDownScriptDependencies),
      ),
      ...phase('group', shared.tearDownSnippetId, shared.localTearDownScript),
    ],
  };
}

function scriptFiles(
  path: string | null | undefined,
  files: readonly ScriptFile[] | null | undefined,
): Pick<LifecycleScript, 'path' | 'files'> {
  return files?.length ? { path: path ?? 'script.js', files: [...files] } : {};
}

function scriptOf(level: string, id: number, snippets: readonly Snippet[]): LifecycleScript {
  const snippet = snippets.find((candidate) => candidate.id === id);
  if (snippet) return { name: `snippet "${snippet.name}" of the ${level}`, script: snippet.script };
  // Silently skipping a phase would be worse than failing with the reason.
  const problem = `The ${level} names snippet ${id}, which was deleted.`;
  return { name: `snippet ${id} of the ${level}`, script: `throw new Error(${JSON.stringify(problem)});` };
}

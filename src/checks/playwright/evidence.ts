import { artifactFolders } from '@picket/lib/names/artifact-folders.ts';
import type { ReportedSuiteTest } from '@picket/sandbox/scripts/events.ts';
import { leftFile } from '@picket/sandbox/scripts/left-files.ts';
import { suiteReportPath } from '@picket/sandbox/suites/suite-run.ts';
import type { ArtifactSink } from '../contract/run-context.ts';
import { extensionOf, freeName, isImage } from '../script/evidence.ts';

/** Artifact names of a suite's evidence. */
export interface SuiteEvidence {
  readonly screenshots: string[];
  readonly videos: string[];
  readonly traces: string[];
  readonly report: string | null;
}

export const noSuiteEvidence: SuiteEvidence = { screenshots: [], videos: [], traces: [], report: null };

const maxScreenshots = 50;
const maxOthers = 40;

/**
 * Hands the attachments of tests and Playwright's report to the sink; those of failed tests first, because the number
 * of artifacts is limited. All processes of the run must have ended.
 */
export async function keepSuiteEvidence(options: {
  readonly directory: string;
  readonly tests: readonly ReportedSuiteTest[];
  readonly sink: ArtifactSink;
}): Promise<SuiteEvidence> {
  const { directory, sink } = options;
  const names = new Set<string>();
  const seen = new Set<string>();
  const keep = async (folder: string, label: string, path: string, contentType: string, kept: string[]) => {
    const file = await leftFile(directory, path);
    if (!file || seen.has(file.path)) return;
    seen.add(file.path);
    const name = freeName(names, folder, label, extensionOf(path));
    if (await sink.add({ name, contentType, content: { path: file.path } })) kept.push(name);
  };
  const evidence = { screenshots: [] as string[], videos: [] as string[], traces: [] as string[] };
  const tests = [...options.tests].sort((one, other) => Number(one.isExpected) - Number(other.isExpected));
  for (const { title, project, retry, attachments } of tests) {
    const label = [project, title, ...(retry > 0 ? [`retry ${retry}`] : [])].filter(Boolean).join(' ');
    for (const { name, contentType, path } of attachments) {
      if (name === 'trace' && contentType === 'application/zip' && evidence.traces.length < maxOthers) {
        await keep(artifactFolders.trace, label, path, contentType, evidence.traces);
      } else if (contentType.startsWith('video/') && evidence.videos.length < maxOthers) {
        await keep(artifactFolders.video, label, path, 'video/webm', evidence.videos);
      } else if (isImage(contentType) && evidence.screenshots.length < maxScreenshots) {
        await keep(artifactFolders.screenshot, `${label} ${name}`, path, contentType, evidence.screenshots);
      }
    }
  }
  const reports: string[] = [];
  await keep('', 'report', suiteReportPath, 'application/json', reports);
  return { ...evidence, report: reports[0] ?? null };
}

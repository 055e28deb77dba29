import { basename, join } from 'node:path';
import { z } from 'zod';
import type { Report } from '../../run/contracts.ts';
import { readBack, textOf } from '../../scrub/report-texts.ts';
import { runFolder } from '../artifacts/run-folder.ts';

/** The spool's note on a report, in addition to its texts. File names are relative to the folder of the run. */
const Note = z.object({
  runId: z.string(),
  leaseNumber: z.number(),
  resultId: z.string(),
  files: z
    .array(z.object({ name: z.string(), file: z.string(), sizeBytes: z.number(), sha256: z.string() }))
    .optional(),
});

/** A report as one text of three lines: note, envelope, detail. The JSON texts contain no line breaks. */
export function spooledText({ envelopeJson, detailJson, artifacts, ...ids }: Report): string {
  const files = artifacts?.files.map(({ path, ...file }) => ({ ...file, file: basename(path) }));
  const note: z.input<typeof Note> = {
    runId: ids.runId,
    leaseNumber: ids.leaseNumber,
    resultId: ids.resultId,
    files,
  };
  return `${JSON.stringify(note)}\n${textOf(envelopeJson)}\n${textOf(detailJson)}`;
}

/**
 * Parses the text of a report.
 *
 * @param artifactFolder where the runs of the spool keep their files.
 * @returns undefined if the text is not a valid report.
 */
export function reportOf(text: string, artifactFolder: string): Report | undefined {
  const [noteJson = '', envelopeJson = '', detailJson = ''] = text.split('\n');
  const note = parseNote(noteJson);
  if (!note || envelopeJson === '' || detailJson === '') return undefined;
  const { files, ...ids } = note;
  const report = { ...ids, envelopeJson: readBack(envelopeJson), detailJson: readBack(detailJson) };
  if (!files) return report;
  const folder = runFolder(artifactFolder, ids);
  return {
    ...report,
    artifacts: {
      folder,
      files: files.map(({ file, ...known }) => ({ ...known, path: join(folder, basename(file)) })),
      reported: [],
    },
  };
}

function parseNote(json: string): z.output<typeof Note> | undefined {
  try {
    return Note.safeParse(JSON.parse(json)).data;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

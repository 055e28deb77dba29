import { expect, it } from 'vitest';
import { hasDetail, inOneBuffer, joinedReports, readBack, textOf, wholeReport } from './report-texts.ts';

const texts = (name: string, detail: unknown) => ({
  envelopeJson: readBack(JSON.stringify({ name })),
  detailJson: readBack(JSON.stringify(detail)),
});

const reports = [texts('café 🚲', { body: 'Zoë\ud800' }), texts('b', null), texts('c', 'null')];

it('writes reports into one buffer, and reads them from it', () => {
  const { buffer, reports: inBuffer } = inOneBuffer(reports);
  const read = inBuffer.map(({ envelopeJson, detailJson }) => [textOf(envelopeJson), textOf(detailJson)]);
  const written = reports.map(({ envelopeJson, detailJson }) => [envelopeJson, detailJson]);
  expect(read).toEqual(written);
  expect(inBuffer.map(wholeReport)).toEqual(reports.map(wholeReport));
  expect(inBuffer.map(hasDetail)).toEqual([true, false, true]);
  expect(reports.map(hasDetail)).toEqual([true, false, true]);
  for (const { envelopeJson } of inBuffer) expect((envelopeJson as Uint8Array).buffer).toBe(buffer);
});

it('joins texts and bytes to one JSON text', () => {
  const [first, ...others] = reports;
  const mixed = [...(first ? [first] : []), ...inOneBuffer(others).reports];
  const joined = Buffer.from(joinedReports('{"é":1,"results":[', mixed, ']}')).toString();
  expect(joined).toBe(`{"é":1,"results":[${reports.map(wholeReport).join(',')}]}`);
  expect(JSON.parse(joined).results).toHaveLength(3);
  expect(Buffer.from(joinedReports('[', [], ']')).toString()).toBe('[]');
});

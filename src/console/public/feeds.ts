import { utcText } from '@picket/lib/figures/time.ts';
import type { StatusPageData } from '@picket/protocol/pages/public-page.ts';
import { visible } from '../elements/text.ts';
import { html } from '../html.ts';
import { statusWord } from './incidents.ts';
import { startOf } from './status-view.ts';

type Incident = StatusPageData['incidents'][number];

const shownIncidents = 50;

/** Characters that XML cannot represent. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const unwritable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const xmlText = (text: string) => visible(text).replaceAll(unwritable, '\ufffd');

function entryOf(incident: Incident) {
  const { id, name, incidentUpdates, lastUpdateStatus } = incident;
  const told = incidentUpdates.map(
    ({ status, publicIncidentUpdateDate: at, description }) =>
      `${utcText(at)}, ${statusWord(status)}: ${description}`,
  );
  return {
    id: `urn:uuid:${id}`,
    title: `${name} (${statusWord(lastUpdateStatus)})`,
    fragment: `#incident-${id}`,
    published: startOf(incident),
    updated: incidentUpdates[0]?.publicIncidentUpdateDate ?? startOf(incident),
    text: told.join('\n\n'),
  };
}

/** Renders the incidents of a page as an Atom feed (RFC 4287); an update of an incident makes its entry new again. */
export function atomFeed(data: StatusPageData, pageUrl: string, feedUrl: string): string {
  const entries = data.incidents.slice(0, shownIncidents).map(entryOf);
  const updated =
    entries
      .map((entry) => entry.updated)
      .toSorted()
      .at(-1) ?? '1970-01-01T00:00:00.000Z';
  const title = xmlText(data.page.name);
  return `<?xml version="1.0" encoding="utf-8"?>\n${html`<feed xmlns="http://www.w3.org/2005/Atom">
<id>urn:picket:status:${data.page.url}</id>
<title>${title}</title>
<author><name>${title}</name></author>
<updated>${updated}</updated>
<link rel="alternate" type="text/html" href="${pageUrl}"/>
<link rel="self" type="application/atom+xml" href="${feedUrl}"/>
${entries.map(
  (entry) => html`<entry>
<id>${entry.id}</id>
<title>${xmlText(entry.title)}</title>
<published>${entry.published}</published>
<updated>${entry.updated}</updated>
<link rel="alternate" type="text/html" href="${pageUrl}${entry.fragment}"/>
<content type="text">${xmlText(entry.text)}</content>
</entry>
`,
)}</feed>`}\n`;
}

/** Renders the same as RSS 2.0, for readers without Atom support. */
export function rssFeed(data: StatusPageData, pageUrl: string, feedUrl: string): string {
  const entries = data.incidents.slice(0, shownIncidents).map(entryOf);
  const title = xmlText(data.page.name);
  return `<?xml version="1.0" encoding="utf-8"?>\n${html`<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>${title}</title>
<link>${pageUrl}</link>
<description>Incidents of ${title}</description>
<atom:link rel="self" type="application/rss+xml" href="${feedUrl}"/>
${entries.map(
  (entry) => html`<item>
<guid isPermaLink="false">${entry.id}:${entry.updated}</guid>
<title>${xmlText(entry.title)}</title>
<link>${pageUrl}${entry.fragment}</link>
<pubDate>${new Date(entry.updated).toUTCString()}</pubDate>
<description>${xmlText(entry.text)}</description>
</item>
`,
)}</channel></rss>`}\n`;
}

/** Renders the same as a JSON Feed 1.1. */
export function jsonFeed(data: StatusPageData, pageUrl: string, feedUrl: string): string {
  return JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: data.page.name,
    home_page_url: pageUrl,
    feed_url: feedUrl,
    items: data.incidents.slice(0, shownIncidents).map((incident) => {
      const entry = entryOf(incident);
      return {
        id: entry.id,
        url: `${pageUrl}${entry.fragment}`,
        title: entry.title,
        content_text: entry.text,
        date_published: entry.published,
        date_modified: entry.updated,
      };
    }),
  });
}

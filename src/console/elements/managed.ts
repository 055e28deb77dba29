import type { ManagedFields } from '@picket/protocol/http/managed-fields.ts';
import type { z } from 'zod';
import { type Content, html } from '../html.ts';
import { shortened } from './format.ts';
import { visible } from './text.ts';

type Managed = z.output<z.ZodObject<typeof ManagedFields>>;

/** States that an object is managed as code and should be changed there. */
export function managedNotice({ project, logicalId }: Managed): Content {
  if (!project) return '';
  return html`<p class="soft">Managed by the project <a href="/settings/projects">${visible(shortened(project.name, 80))}</a> as <code>${logicalId}</code>. Changes here are overwritten by its next deployment.</p>`;
}

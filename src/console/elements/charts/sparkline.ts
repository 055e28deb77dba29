import { type Html, html } from '../../html.ts';

/** A curve without axes, with gaps for missing values. */
export function sparkline(
  label: string,
  values: readonly (number | null)[],
  size = { width: 96, height: 24 },
): Html {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return html`<span class="spark"></span>`;
  const highest = Math.max(...known);
  const stepPx = size.width / Math.max(1, values.length - 1);
  const heightPx = size.height - 4;
  let line = '';
  let isDrawing = false;
  for (const [index, value] of values.entries()) {
    if (value !== null) {
      const y = 2 + heightPx - (highest === 0 ? 0 : (value / highest) * heightPx);
      line += `${isDrawing ? 'L' : 'M'}${(index * stepPx).toFixed(1)} ${y.toFixed(1)}`;
    }
    isDrawing = value !== null;
  }
  return html`<svg class="spark" role="img" aria-label="${label}" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}"><path d="${line}"/></svg>`;
}

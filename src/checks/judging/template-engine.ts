/**
 * What parses and compiles templates. It is a file of its own because Handlebars takes 7 MB and a tenth of a
 * second to load, which an agent whose checks have no templates does not need: templating.ts loads it with
 * the first template.
 */
import Handlebars from 'handlebars';

/** A compiled template. */
export type Template = (values: Readonly<Record<string, unknown>>) => string;

/** What templates of one kind may use, and what becomes of what they put out. */
export interface TemplateLanguage {
  readonly helpers: Readonly<Record<string, (...given: never[]) => unknown>>;
  /**
   * The helper that every `{{x}}` goes through, and the one instead for one at the very start; `{{{x}}}` goes
   * through none.
   */
  readonly encoder?: { readonly name: string; readonly atStart?: string } | undefined;
  /** Percent-encodes the text around the templates too. */
  readonly isTextEncoded?: boolean;
}

const builtInHelpers = { if: true, unless: true, each: true, with: true, lookup: true };

/**
 * Compiles a template of a language. Objects' prototypes are out of its reach, and only the helpers it names,
 * and the blocks built into Handlebars, can be called.
 *
 * @throws Error of the parser.
 */
export function compileTemplate(text: string, language: TemplateLanguage): Template {
  const engine = Handlebars.create();
  // The lexer takes `$` only inside a bracketed segment.
  const program = engine.parse(
    markClosingBraces(text).replaceAll(/(\{\{\{?[#/]?~?\s*|\(\s*)\$(\w+)/g, '$1[$$$2]'),
  );
  new BraceRestorer().accept(program);
  encodeOutput(program, language);
  const known = Object.fromEntries(Object.keys(language.helpers).map((name) => [name, true]));
  const template = engine.compile(program, {
    noEscape: true,
    knownHelpersOnly: true,
    knownHelpers: {
      ...builtInHelpers,
      ...known,
      log: false,
      helperMissing: false,
      blockHelperMissing: false,
    },
  });
  const options = {
    helpers: language.helpers as Record<string, Handlebars.HelperDelegate>,
    allowProtoPropertiesByDefault: false,
    allowProtoMethodsByDefault: false,
  };
  return (values) => template(Object.assign(Object.create(null), values), options);
}

/**
 * Stands for a closing brace of the text behind a template; from the private use area, so that no text has
 * it.
 */
const closingBrace = '\u{F8FE}';

/**
 * `{"count":{{N}}}` is a template and the end of a JSON object, but the parser takes the three braces for the
 * end of a `{{{N}}}`, and four for the end of a block. What closes more than was opened belongs to the text.
 */
function markClosingBraces(text: string): string {
  return text.replaceAll(
    /(\{\{\{[^{}]*\}\}\}|\{\{[^{}]*\}\})(\}*)/g,
    (_whole, template: string, braces: string) => template + closingBrace.repeat(braces.length),
  );
}

class BraceRestorer extends Handlebars.Visitor {
  override ContentStatement(content: hbs.AST.ContentStatement): void {
    content.value = content.value.replaceAll(closingBrace, '}');
  }
}

/** Rewrites every `{{x}}` of a parsed template to `{{encoder x}}`; `{{{x}}}` stays as it is. */
function encodeOutput(
  program: hbs.AST.Program,
  { helpers: known, encoder, isTextEncoded }: TemplateLanguage,
): void {
  const first = program.body[0];
  class Encoder extends Handlebars.Visitor {
    override MustacheStatement(mustache: hbs.AST.MustacheStatement): void {
      if (!mustache.escaped || !encoder) return;
      const name = mustache === first ? (encoder.atStart ?? encoder.name) : encoder.name;
      const { path, params, hash, loc } = mustache;
      const isCall = params.length > 0 || isHelper(path, known);
      const value = isCall ? { type: 'SubExpression', path, params, hash, loc } : path;
      mustache.path = pathTo(name, loc);
      mustache.params = [value as hbs.AST.Expression];
      mustache.hash = undefined as unknown as hbs.AST.Hash;
    }

    override ContentStatement(content: hbs.AST.ContentStatement): void {
      if (isTextEncoded) content.value = encodeURIComponent(content.value.toWellFormed());
    }
  }
  new Encoder().accept(program);
}

function isHelper(
  path: hbs.AST.Expression | hbs.AST.PathExpression,
  known: TemplateLanguage['helpers'],
): boolean {
  return 'original' in path && Object.keys(known).some((name) => path.original === name);
}

function pathTo(name: string, loc: hbs.AST.SourceLocation): hbs.AST.PathExpression {
  return { type: 'PathExpression', data: false, depth: 0, parts: [name], original: name, loc };
}

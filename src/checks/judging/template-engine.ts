/**
 * Parses and compiles templates. A file of its own because Handlebars takes 7 MB and a tenth of a second to load, which
 * an agent whose checks have no templates does not need: templating.ts loads it with the first template.
 */
import Handlebars from 'handlebars';

/** A compiled template. */
export type Template = (values: Readonly<Record<string, unknown>>) => string;

/** Helpers of one kind of template, and the encoding of its output. */
export interface TemplateLanguage {
  readonly helpers: Readonly<Record<string, (...given: never[]) => unknown>>;
  /**
   * The helper that encodes every `{{x}}`, and its replacement at the very start of a text; `{{{x}}}` is not encoded.
   */
  readonly encoder?: { readonly name: string; readonly atStart?: string } | undefined;
  /** Whether to percent-encode the text around the templates too. */
  readonly isTextEncoded?: boolean;
}

const builtInHelpers = { if: true, unless: true, each: true, with: true, lookup: true };

/**
 * Compiles a template of a language. It has no access to prototypes of objects, and can call only the helpers of the
 * language and the built-in blocks of Handlebars.
 *
 * @throws Error of the parser.
 */
export function compileTemplate(text: string, language: TemplateLanguage): Template {
  const engine = Handlebars.create();
  // The lexer accepts `$` only inside a bracketed segment.
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
 * Replaces a closing brace of the text after a template; from the private use area, so that it does not occur in texts.
 */
const closingBrace = '\u{F8FE}';

/**
 * `{"count":{{N}}}` is a template and the end of a JSON object, but the parser reads the three braces as the end of a
 * `{{{N}}}`, and four as the end of a block. Closing braces in excess of the opening ones belong to the text.
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

/** Rewrites every `{{x}}` of a parsed template to `{{encoder x}}`; `{{{x}}}` stays unchanged. */
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

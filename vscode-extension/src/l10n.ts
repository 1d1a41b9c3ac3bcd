/** Translation of texts, also for modules that know nothing of VS Code. */

type Value = string | number | boolean;
type Translate = (message: string, ...values: Value[]) => string;

let translate: Translate = format;

/** Use a translator for all texts from now on. The default is English. */
export function setTranslator(translator: Translate): void {
  translate = translator;
}

/** A text with `{0}`, `{1}`… filled in. The English text is the key of its translation in l10n/. */
export function t(message: string, ...values: Value[]): string {
  return translate(message, ...values);
}

/** Fill in `{0}`, `{1}`… */
export function format(message: string, ...values: Value[]): string {
  return message.replace(/\{(\d+)\}/g, (placeholder, index) => String(values[Number(index)] ?? placeholder));
}

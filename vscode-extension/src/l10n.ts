/** Texts in the reader's language. Modules that know nothing of VS Code write in it too. */

type Value = string | number | boolean;
type Translate = (message: string, ...values: Value[]) => string;

let translate: Translate = filled;

/** Take the editor's translations from now on; without, texts are English. */
export function speak(translator: Translate): void {
  translate = translator;
}

/** A text with `{0}`, `{1}`… filled in. The English text is the key of its translation in l10n/. */
export function t(message: string, ...values: Value[]): string {
  return translate(message, ...values);
}

/** Fill in `{0}`, `{1}`… */
export function filled(message: string, ...values: Value[]): string {
  return message.replace(/\{(\d+)\}/g, (place, index) => String(values[Number(index)] ?? place));
}

/** A text in which parts between backticks are code. */
export function Code({ text = "" }: { text?: string | undefined }) {
  return <>{text.split("`").map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>;
}

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly type: "text" | "number" | "url" | "datetime-local"
  readonly class?: string
  readonly value?: string
  readonly placeholder?: string
  readonly list?: string
  readonly required?: boolean
  readonly min?: number
  readonly step?: number | string
}

/** A labelled input of the form. */
export function Field({ label, class: name = "", value = "", ...input }: FieldProps) {
  return (
    <label class={name}>
      {label}
      <input {...input} defaultValue={value} autocomplete="off" spellcheck={false} />
    </label>
  )
}

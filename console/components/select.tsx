interface SelectProps {
  /** Label for screen readers, where none stands next to it. */
  readonly label?: string
  /** Whether it is in a form in which one has to be chosen. */
  readonly name?: string
  readonly value: string | undefined
  readonly options: readonly (readonly [value: string, words: string])[]
  choose(value: string): void
}

/** A choice of one of several. */
export function Select({ label, name, value, options, choose }: SelectProps) {
  return (
    <select
      aria-label={label}
      name={name}
      required={name !== undefined}
      value={value}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {options.map(([it, words]) => (
        <option key={it} value={it}>
          {words}
        </option>
      ))}
    </select>
  )
}

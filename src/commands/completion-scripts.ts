/** What completes `hookline` in each shell: the candidates come from `hookline complete`, one a line, see complete.ts. */
export const SHELLS = {
  bash: `# bash completion for hookline
_hookline() {
  local line=\${COMP_LINE:0:COMP_POINT} words=() word candidate
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=\${words[-1]}
  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ $candidate == :files ]]; then
      compopt -o default
    else
      candidate=\${candidate%%$'\\t'*}
      # to bash, what follows a colon or an equals sign is the word
      COMPREPLY+=("\${candidate#"\${word%"\${word##*[:=]}"}"}")
    fi
  done < <("$1" complete -- "\${words[@]:1}" 2> /dev/null)
}
complete -F _hookline hookline
`,
  zsh: `#compdef hookline
# zsh completion for hookline
_hookline() {
  local line
  local -a candidates
  for line in "\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    if [[ $line == :files ]]; then
      _files
    elif [[ -n $line ]]; then
      candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    fi
  done
  (( ! $#candidates )) || _describe hookline candidates
}
compdef _hookline hookline
`,
  fish: `# fish completion for hookline
function __hookline_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] complete -- $words[2..] 2> /dev/null)
    if test "$line" = :files
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c hookline -f -a '(__hookline_complete)'
`,
} as const

export type Shell = keyof typeof SHELLS

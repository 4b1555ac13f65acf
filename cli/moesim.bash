# moesim.bash - bash completion of moesim. Options and the names they take come from moesim itself
# (`moesim help --options COMMAND`), so that this file never falls behind.

# The names an option takes, one line; empty if it takes none.
_moesim_values()
{
    "${COMP_WORDS[0]}" help --options "$1" 2>/dev/null |
        while read -r name values; do
            [ "$name" = "$2" ] && printf '%s\n' "$values" && break
        done
}

# Names of the first column of `moesim topology list` or `moesim model list`.
_moesim_builtin()
{
    "${COMP_WORDS[0]}" "$1" list 2>/dev/null | while read -r name _; do
        case $name in
        '') break ;;
        NAME | model) ;;
        *) printf '%s\n' "$name" ;;
        esac
    done
}

_moesim_reply()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_moesim_option_value()
{
    local values=
    case $2 in
    --topology) values=$(_moesim_builtin topology) ;;
    --model) values=$(_moesim_builtin model) ;;
    *) values=$(_moesim_values "$1" "$2") ;;
    esac
    if [ -n "$values" ]; then
        local head=
        # A list of names: complete the one after the last comma.
        if [[ $cur == *,* ]]; then
            head=${cur%,*},
            cur=${cur##*,}
        fi
        mapfile -t COMPREPLY < <(compgen -P "$head" -W "$values" -- "$cur")
    fi
    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null
}

_moesim()
{
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=predict word=${COMP_WORDS[1]-}
    COMPREPLY=()
    case $word in
    '' | -*) ;;
    *) command=$word ;;
    esac
    if [ "$COMP_CWORD" -eq 1 ] && [[ $cur != -* ]]; then
        _moesim_reply "$("${COMP_WORDS[0]}" help --commands 2>/dev/null)"
    elif [[ $cur == -* ]]; then
        _moesim_reply "$("${COMP_WORDS[0]}" help --options "$command" 2>/dev/null |
            while read -r name _; do printf '%s\n' "$name"; done)"
        [ "$COMP_CWORD" -gt 1 ] || _moesim_reply "${COMPREPLY[*]} --version"
    elif [[ $previous == --* ]]; then
        _moesim_option_value "$command" "$previous"
    elif [ "$COMP_CWORD" -eq 2 ]; then
        case $command in
        topology) _moesim_reply 'list show check' ;;
        model) _moesim_reply 'list show' ;;
        help) _moesim_reply "$("${COMP_WORDS[0]}" help --commands 2>/dev/null)" ;;
        esac
    else
        case $command in
        topology | model) _moesim_reply "$(_moesim_builtin "$command")" ;;
        esac
        [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null
    fi
}

complete -F _moesim moesim

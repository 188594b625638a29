"""Patterns of Fortran statements that are not assignments."""

from __future__ import annotations

import re
from functools import cache

# `_` is an optional blank; `~` is one that free form requires and fixed form does not.
_RULES = r"""
end         end
end unit    end_(?:block_data|subroutine|function|program|procedure|submodule|module)(?:~(?P<name>\w+))?
end do      end_do(?:~(?P<name>\w+))?
end if      end_if(?:~(?P<name>\w+))?
end block   end_(?:select|where|forall|associate|block|critical|team)(?:\(.*\))?(?:~(?P<name>\w+))?
end types   end_(?:interface|type|enum|structure|union|map)\b.*
do          do(?:~(?P<label>\d+))?
do          do(?:~(?P<label>\d+),?|~)_(?:while_\(.*\)|[a-z]\w*=.+,.+)
do          do_while_\(.*\)
do          do,(?:while_\(.*\)|[a-z]\w*=.+,.+)
concurrent  do(?:~(?P<label>\d+),?_|~|,)concurrent_\(.*
then        if\(.*\)then
else        else(?:~\w+)?|else_if\(.*\)then(?:~\w+)?|else_where(?:\(.*\))?(?:~\w+)?
else        (?:case|class|rank)_default(?:~\w+)?
else        (?:case|rank|type_is|class_is)\(.*\)(?:~?\w+)?
block       select_(?:case|type|rank)\(.*\)|block|associate\(.*\)|critical(?:\(.*\))?|change_team\(.*\)
block       where\((?P<whole>.*)\)|forall\((?P<whole2>.*)\)
types       (?:abstract_)?interface\b.*|interface~.+|enum,.*|structure_/.*|union|map
types       type(?:,.*)?::_?\w+|type(?:,.*)?::\w+\(.*\)|type~(?!is\b)\w+(?:\(.*\))?
unit        program~(?P<program>\w+)|module~(?!procedure~)(?P<module>\w+)
unit        submodule_\((?P<parent>[\w:]+)\)(?P<submodule>\w+)
unit        block_data(?:~\w+)?(?P<data>)
procedure   module_procedure~(?P<name>\w+)
contains    contains
entry       entry~(?P<name>\w+)(?:\(.*)?
return      return(?:~\w.*|\(.*|[-+'].*)?
stop        stop(?:~\w.*|\(.*|['\"-].*|,.*)?
cycle       cycle(?:~(?P<name>\w+))?
exit        exit(?:~(?P<name>\w+))?
goto        go_to~?(?P<label>\d+)
computed    go_to_\((?P<labels>[\d,]+)\).*
assigned    go_to~[a-z]\w*(?:,?\(.*\))?
assign      assign~\d+_to~\w+
call        call~.+
io          (?:read|write|open|close|inquire|rewind|backspace|endfile|end_file|flush|wait|encode|decode|delete)_\(.*
io          (?:read|print|accept|type)(?:\*|~?''|~?\d|~[a-z]).*|(?:rewind|backspace|endfile|end_file|flush)~.+
exec        continue|(?:de)?allocate\(.*\)|nullify\(.*\)|error_stop.*|pause.*|fail_image
exec        (?:where|forall)\(.*\).+
exec        sync_(?:all|images|memory|team)\b.*|(?:un)?lock\(.*\)|(?:event_(?:post|wait)|notify_wait|form_team)\(.*\)
use         use(?:~|,.*::|::).+
import      import(?:\b.*)?
implicit    implicit~.+
include     include_''
neutral     format\(.*|data\b.*|data~.+|namelist_/.*
spec        (?:integer|real|complex|logical|character|byte|double_precision|double_complex)(?:[*(,:].*|~.+)
spec        (?:type|class|procedure)\(.*\).+|(?:type|class)\(.*\)
spec        (?:dimension|parameter|save|external|intrinsic|common|equivalence|allocatable|pointer|target)(?:\W.*|~.+)?
spec        attributes\(.*
spec        (?:optional|intent|public|private|protected|volatile|asynchronous|value|contiguous|bind)(?:\W.*|~.+)?
spec        (?:codimension|generic|final|sequence|automatic|static|enumerator|record|virtual)(?:\W.*|~.+)?
"""


@cache
def rules(fixed: bool) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return kinds of statements with the pattern of their whole text; the first match counts."""
    made = []
    for line in _RULES.strip().splitlines():
        kind, pattern = re.split(r"  +", line, maxsplit=1)
        pattern = pattern.replace("_", " ?").replace("~?", " ?").replace("~", " ?" if fixed else " ")
        made.append((kind, re.compile(pattern, re.ASCII | re.DOTALL)))
    return tuple(made)

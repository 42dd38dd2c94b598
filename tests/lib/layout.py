# SPDX-License-Identifier: GPL-2.0
"""Compares the mirrors of src/lib/tally.py with what the C compiler says.

    layout.py structs|constants|functions FOLDER    FOLDER is for files that are built

Prints each difference, and exits with status 1 if there is one.
"""
from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any, Dict, Iterator, List, Tuple

import tally

# Members that older headers lack, and the macro that headers with the member define. Such a member
# is the struct's last one.
LATE = {('struct perf_event_attr', 'config3'): 'PERF_ATTR_SIZE_VER8'}

Lines = Dict[str, str]


def mirrors() -> Iterator[Tuple[str, Any]]:
    """Yields each mirror and its type in C. A class with no type in C is an error."""
    known = set(tally._MIRRORS.values())
    for name, value in vars(tally).items():
        if isinstance(value, type) and issubclass(value, (ctypes.Structure, ctypes.Union)):
            assert value in known, f'{name} mirrors no struct'
    yield from tally._MIRRORS.items()


def members(mirror: Any) -> List[str]:
    """Returns the names of the members, but for reserved ones: C has no name for all of them."""
    return [name for name in mirror.__annotations__ if not name.startswith('_')]


def is_bit(mirror: Any, member: str) -> bool:
    return any(len(field) == 3 and field[0] == member for field in mirror._fields_)


def all_ones(mirror: Any, member: str) -> str:
    """Returns the bytes of a struct in which only this bit-field is not 0."""
    struct = mirror.from_buffer_copy(bytes(ctypes.sizeof(mirror)))
    # Attr itself refuses a number that has no room.
    ctypes.Structure.__setattr__(struct, member, 0xff)
    return bytes(struct).rstrip(b'\0').hex()


def struct_lines() -> Lines:
    """Returns what ctypes says: a line for each struct and each member."""
    lines = {}
    for c_type, mirror in mirrors():
        lines[c_type] = f'size {ctypes.sizeof(mirror)}'
        for member in members(mirror):
            field = getattr(mirror, member)
            lines[f'{c_type}.{member}'] = (
                f'bits {all_ones(mirror, member)}' if is_bit(mirror, member) else
                f'at {field.offset} size {field.size}')
    return lines


def member_code(c_type: str, mirror: Any, member: str) -> str:
    """Returns the statement that prints what the compiler says of a member."""
    name = f'{c_type}.{member}'
    if is_bit(mirror, member):
        code = f'static {c_type} s; s.{member} = -1; show("{name}", &s, sizeof(s));'
    else:
        code = (f'printf("{name}\\tat %zu size %zu\\n", offsetof({c_type}, {member}), '
                f'sizeof((({c_type} *)0)->{member}));')
    macro = LATE.get((c_type, member))
    code = f'\t{{ {code} }}\n'
    return f'#ifdef {macro}\n{code}#endif\n' if macro else code


STRUCTS = r'''
#include <stddef.h>
#include <stdio.h>
#include <libtally.h>

static void show(const char *name, const void *bytes, size_t size)
{
	const unsigned char *b = bytes;
	size_t i;

	while (size && !b[size - 1])
		size--;
	printf("%s\tbits ", name);
	for (i = 0; i < size; i++)
		printf("%02x", b[i]);
	printf("\n");
}

int main(void)
{
'''


def struct_code() -> str:
    code = STRUCTS
    for c_type, mirror in mirrors():
        code += f'\tprintf("{c_type}\\tsize %zu\\n", sizeof({c_type}));\n'
        code += ''.join(member_code(c_type, mirror, member) for member in members(mirror))
    return code + '\treturn 0;\n}\n'


def forget_late(lines: Lines, compiled: Lines) -> None:
    """Cuts a member off that the compiler's headers do not have."""
    for c_type, member in LATE:
        if f'{c_type}.{member}' in compiled:
            continue
        del lines[f'{c_type}.{member}']
        lines[c_type] = f'size {getattr(tally._MIRRORS[c_type], member).offset}'
        print(f'# the headers have no {c_type}.{member}')


def constant_lines() -> Lines:
    return {name: str(value) for name, value in vars(tally).items()
            if name.startswith(('PERF_', 'LIBTALLY_'))}


def constant_code() -> str:
    code = '#include <stdio.h>\n#include <sys/ioctl.h>\n#include <libtally.h>\n\nint main(void)\n{\n'
    for name in constant_lines():
        code += f'\tprintf("{name}\\t%llu\\n", (unsigned long long)({name}));\n'
    return code + '\treturn 0;\n}\n'


def kind(c_type: Any) -> str:
    """Returns how a type is passed: a pointer, nothing, or a number of so many bytes."""
    if c_type is None:
        return 'void'
    if c_type in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(c_type, 'contents'):
        return 'pointer'
    sign = 'signed' if c_type(-1).value < 0 else 'unsigned'
    return f'{sign}{ctypes.sizeof(c_type)}'


def function_lines() -> Lines:
    return {name: ' '.join(kind(c_type) for c_type in types)
            for name, types in tally._PROTOTYPES.items()}


FUNCTIONS = r'''
#include <cstdio>
#include <string>
#include <type_traits>
#include <libtally.h>

template<class T> std::string kind()
{
	if constexpr (std::is_void<T>::value)
		return "void";
	else if constexpr (std::is_pointer<T>::value)
		return "pointer";
	else if constexpr (std::is_enum<T>::value)
		return kind<typename std::underlying_type<T>::type>();
	else
		return (std::is_signed<T>::value ? "signed" : "unsigned") + std::to_string(sizeof(T));
}

template<class R, class... A> void show(const char *name, R (*)(A...))
{
	std::string line = kind<R>();

	((line += " " + kind<A>()), ...);
	printf("%s\t%s\n", name, line.c_str());
}

int main()
{
'''


def function_code() -> str:
    return FUNCTIONS + ''.join(f'\tshow("{name}", {name});\n' for name in tally._PROTOTYPES) + '}\n'


PARTS = {
    'structs': (struct_lines, struct_code, ['gcc', '-x', 'c']),
    'constants': (constant_lines, constant_code, ['gcc', '-x', 'c']),
    'functions': (function_lines, function_code, ['g++', '-std=c++17', '-x', 'c++']),
}


def compiled_lines(code: str, compiler: List[str], program: str) -> Lines:
    subprocess.run([*compiler, '-Wall', '-Werror', '-Isrc/lib', '-o', program, '-',
                    *(['-Wl,--unresolved-symbols=ignore-all'] if 'c++' in compiler else [])],
                   input=code, text=True, check=True)
    out = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(line.split('\t') for line in out.splitlines())


def main() -> int:
    lines_of, code_of, compiler = PARTS[sys.argv[1]]
    lines = lines_of()
    compiled = compiled_lines(code_of(), compiler, f'{sys.argv[2]}/{sys.argv[1]}')
    if sys.argv[1] == 'structs':
        forget_late(lines, compiled)
    print(f'# {len(lines)} compared')
    bad = 0
    for name in sorted(lines.keys() | compiled.keys()):
        mine, theirs = lines.get(name, 'nothing'), compiled.get(name, 'nothing')
        if mine != theirs:
            bad += 1
            print(f'{name}: {mine} in Python, {theirs} in C')
    return 1 if bad or not lines else 0


sys.exit(main())

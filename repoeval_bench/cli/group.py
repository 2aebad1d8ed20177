"""A group of commands that are imported when they are called, so that `--help` and a warm run stay fast.

The tool itself is one. A plug-in that brings several commands is another, named by an entry point.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from repoeval_bench.core.errors import SpecError, nearest

PLUG_INS = "repoeval_bench.commands"
"""The group of entry points that name commands of plug-ins."""


class NamedGroup(click.Group):
    """A group that offers the nearest command in place of an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or offer the nearest one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from repoeval_bench.core.registry import GONE  # `--help` imports none

            if instead := GONE.get(("command", args[0])):
                raise click.UsageError(f"command {args[0]} was removed; use {instead}", ctx)
            raise click.UsageError(nearest("command", args[0], self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)


class CommandGroup(NamedGroup):
    """A group whose commands are imported on request.

    `table` is name -> (`module:Name` of the command, its purpose), in the order of use; `.module` is one of `package`.
    `examples` are lines that begin with the name of a command; they are shown below its help. `further` are names of
    the table that `--help` lists apart.
    """

    def __init__(
        self,
        *,
        table: Mapping[str, tuple[str, str]],
        package: str | None = None,
        examples: str = "",
        further: frozenset[str] = frozenset(),
        plug_ins: str = "",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.table, self.examples, self._further, self._plug_ins = table, examples, further, plug_ins
        self._package = package

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of use, those of plug-ins last."""
        return [*self.table, *self._outside()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module, or the plug-in's, and take the command out of it."""
        command: click.Command | None
        if cmd_name in self.table:
            module, _, attribute = self.table[cmd_name][0].partition(":")
            command = getattr(import_module(module, self._package), attribute)
        else:
            command = self._plug_in(cmd_name)
        if command is not None and "Examples:" not in (command.epilog or "") and not isinstance(command, CommandGroup):
            group = "" if self.name == ROOT else f"{self.name} "
            lines = [f"  {ROOT} {group}{line}" for line in self.examples.splitlines() if line.split()[0] == cmd_name]
            # `\b` keeps click from folding them.
            examples = "\n".join(["\b", "Examples:", *lines]) if lines else ""
            command.epilog = "\n\n".join(filter(None, [command.epilog, examples]))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands in `--help`."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.table[name][1]) for name in self.table if name not in self._further])
        others = [(name, self.table[name][1]) for name in self.table if name in self._further]
        others += [(name, self._purpose(name)) for name in self._outside()]
        if others:
            with formatter.section("More"):
                formatter.write_dl(others)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and take its defaults from the environment if `--variables` is given."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or command is None or ctx.resilient_parsing:
            return name, command, rest
        if ctx.find_root().params.get("variables") and not isinstance(command, CommandGroup):
            from repoeval_bench.cli.options import option_variables  # `--help` imports none

            ctx.default_map = {name: option_variables(command, os.environ)}
        return name, command, rest

    def _outside(self) -> list[str]:
        if not self._plug_ins:
            return []
        from repoeval_bench.core.registry import entry_points

        return [name for name in entry_points(self._plug_ins) if name not in self.table]

    def _plug_in(self, name: str) -> click.Command | None:
        if not self._plug_ins:
            return None
        from repoeval_bench.core.registry import extension

        command: object = extension(self._plug_ins, name)
        if command is not None and not isinstance(command, click.Command):
            raise SpecError(
                f"plug-in {name!r} of {self._plug_ins} is a {type(command).__name__}; name a click.Command there "
                "(docs/api.md)"
            )
        return command

    def _purpose(self, name: str) -> str:
        try:
            command = self._plug_in(name)
        except SpecError as error:
            return str(error)
        return command.get_short_help_str(200) if command else ""


ROOT = "repoeval-bench"
"""The name of the tool's own group."""

"""`cochef cluster-plan`: what experiments cost on a cluster, and how they scale."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from cochef.cli.arguments import check_ending, check_seed
from cochef.cli.output import JsonOption, Row, print_json, print_line, print_rows
from cochef.experiments.presets import PresetName

if TYPE_CHECKING:
    from cochef.experiments.jobs import Job
    from cochef.experiments.schedule import CriticalPath, JobSchedule

WORKERS = tuple(2**power for power in range(9))
HOUR = 3600.0


@dataclass
class PlanCluster:
    """Simulate the schedule of experiments on 1 to 256 workers, from the times of finished jobs."""

    experiments: tyro.conf.Positional[tuple[str, ...]] = ("all",)
    """Names of experiments (see `cochef reproduce`), or `all`."""
    preset: PresetName = "paper"
    """The settings whose jobs are planned."""
    seeds: tuple[int, ...] = (0,)
    """Populations."""
    shard_members: int | None = None
    """Split populations with independent members into jobs of at most so many members."""
    out: Path = Path("runs")
    """Where finished jobs are; their times give the rates."""
    picture: Path | None = None
    """Also draw it, as a PNG."""
    json: JsonOption = False
    save_rates: Path | None = None
    """Also write the rates of the finished jobs, as TOML."""

    def run(self) -> int:
        """Estimate, simulate, show."""
        for seed in self.seeds:
            check_seed(seed)
        if self.picture:
            check_ending(self.picture, (".png",))
        if self.save_rates:
            check_ending(self.save_rates, (".toml",))
        from cochef.experiments import estimates
        from cochef.experiments.jobs import JobStore
        from cochef.experiments.schedule import critical_path, simulate

        estimator = estimates.measured(JobStore(self.out))
        if self.save_rates:
            estimates.save(estimator.own, self.save_rates)
        jobs = self._jobs()
        seconds = {job.address: estimator.seconds(job) for job in jobs}
        schedules = [simulate(jobs, seconds, workers) for workers in WORKERS]
        path = critical_path(jobs, seconds)
        steps = sum(estimates.environment_steps(job.description) for job in jobs)
        if self.json:
            print_json(_described(schedules, path, seconds, steps))
        else:
            _print_schedules(schedules, jobs)
            print_line(f"a worker has {estimator.cores} cores; times are {estimator.source}")
            _print_assumptions([job for job in jobs if not estimator.is_known(job)])
            print_line(f"training: {steps / 1e9:,.1f} billion environment steps")
            _print_path(path, seconds)
        if self.picture:
            from cochef.evaluation import plots

            title = f"{', '.join(self.experiments)}, preset {self.preset}, {len(jobs)} jobs"
            hours = [schedule.seconds / HOUR for schedule in schedules]
            plots.save(plots.scaling(WORKERS, hours, path.seconds / HOUR, title), self.picture)
            if not self.json:
                print_line(f"picture: {self.picture}")
        return 0

    def _jobs(self) -> "list[Job]":
        """All jobs of the experiments, each once and after its inputs."""
        from cochef import reproduction
        from cochef.reproduction import plan

        chosen = tuple(reproduction.chosen(self.experiments))
        scope = plan.Scope(chosen, self.preset, seeds=self.seeds, shard_members=self.shard_members)
        return plan.make(scope).jobs


def _rows(schedules: "list[JobSchedule]") -> list[Row]:
    return [
        {
            "workers": schedule.workers,
            "hours": schedule.seconds / HOUR,
            "times faster": schedule.speedup,
            "busy": schedule.busy,
        }
        for schedule in schedules
    ]


def _described(
    schedules: "list[JobSchedule]", path: "CriticalPath", seconds: "dict[str, float]", steps: float
) -> dict[str, object]:
    """All that is shown, for other programs."""
    hours = {job.name: seconds[job.address] / HOUR for job in path.jobs}
    return {"schedules": _rows(schedules), "critical path": hours, "environment steps": steps}


def _print_assumptions(unknown: "list[Job]") -> None:
    """Say what jobs are taken to cost that are unlike all that was measured."""
    from cochef.experiments import estimates

    works = [estimates.work_of(job.description) for job in unknown]
    trainings = [work for work in works if work.observation == "grid"]
    if trainings:
        print_line(
            f"ASSUMED: {len(trainings)} trainings on the 26 planes, never measured whole, cost "
            f"{estimates.GRID_COST:g} times those on the compact vector"
        )
    if len(unknown) > len(trainings):
        others = len(unknown) - len(trainings)
        each = f"{estimates.UNKNOWN_SECONDS:g} seconds each"
        print_line(f"ASSUMED: {others} small jobs of kinds never measured take {each}")


def _print_schedules(schedules: "list[JobSchedule]", jobs: "list[Job]") -> None:
    title = f"{len(jobs)} jobs, {schedules[0].work / HOUR:,.1f} hours of one worker"
    formats = {"hours": ",.2f", "times faster": ".1f", "busy": ".0%"}
    print_rows(_rows(schedules), title, formats=formats)


def _print_path(path: "CriticalPath", seconds: "dict[str, float]") -> None:
    print_line(f"critical path: {path.seconds / HOUR:,.2f} hours")
    for job in path.jobs:
        print_line(f"  {seconds[job.address] / HOUR:8.2f}  {job.name}")

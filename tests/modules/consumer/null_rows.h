/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ANSWERS(function, context, what is true of it if a pointer is @bad): one for each
 * exported function, which scripts/check looks for. Included by nulls.c.
 */
ANSWERS(tally_builder_init, ASLEEP,
	NOTHING(tally_builder_init(bad, (struct tally_what){ })) &&
	NOTHING(tally_builder_init(b, TALLY_PMU_NAMED(bad, 0))) &&
	(!bad || is_kept()) &&
	NOTHING(tally_builder_init(b, TALLY_KPROBE_SYMBOL(bad, 0))) &&
	(!bad || is_kept()));
ANSWERS(tally_builder_init_attr, ASLEEP,
	NOTHING(tally_builder_init_attr(bad, (struct perf_event_attr *)bad)) &&
	NOTHING(tally_builder_init_attr(b, (struct perf_event_attr *)bad)) &&
	is_kept());
ANSWERS(tally_builder_parse, ASLEEP,
	EINVAL_FROM(tally_builder_parse(bad, "page-faults")) &&
	EINVAL_FROM(tally_builder_parse(b, bad)) &&
	is_kept());
ANSWERS(tally_builder_name, ASLEEP,
	NOTHING(tally_builder_name(bad, "x")) &&
	NOTHING(tally_builder_name(b, bad)) &&
	is_kept());
ANSWERS(tally_builder_on_task, ANYWHERE,
	NOTHING(tally_builder_on_task(bad, current)) &&
	NOTHING(tally_builder_on_task(b, bad)));
ANSWERS(tally_builder_on_overflow, ASLEEP,
	NOTHING(tally_builder_on_overflow(bad, NULL, NULL)) &&
	NOTHING(tally_builder_on_overflow(b, bad, NULL)) &&
	handler_is_kept(bad));
ANSWERS(tally_builder_on_overflow_irq, ASLEEP,
	NOTHING(tally_builder_on_overflow_irq(bad, NULL, NULL)) &&
	NOTHING(tally_builder_on_overflow_irq(b, bad, NULL)) &&
	handler_is_kept(bad));
ANSWERS(tally_builder_on_overflow_work, ASLEEP,
	NOTHING(tally_builder_on_overflow_work(bad, NULL, NULL)) &&
	NOTHING(tally_builder_on_overflow_work(b, bad, NULL)) &&
	handler_is_kept(bad));
ANSWERS(tally_builder_config, ANYWHERE, NOTHING(tally_builder_config(bad, 0, 0, 0)));
ANSWERS(tally_builder_on_cpu, ANYWHERE, NOTHING(tally_builder_on_cpu(bad, 0)));
ANSWERS(tally_builder_on_all_cpus, ANYWHERE, NOTHING(tally_builder_on_all_cpus(bad)));
ANSWERS(tally_builder_on_pid, ANYWHERE, NOTHING(tally_builder_on_pid(bad, 0)));
ANSWERS(tally_builder_on_cgroup, ASLEEP,
	NOTHING(tally_builder_on_cgroup(bad, "/")) &&
	NOTHING(tally_builder_on_cgroup(b, bad)));
ANSWERS(tally_builder_on_cgroup_fd, ASLEEP, NOTHING(tally_builder_on_cgroup_fd(bad, 0)));
ANSWERS(tally_builder_period, ANYWHERE, NOTHING(tally_builder_period(bad, 1)));
ANSWERS(tally_builder_freq, ANYWHERE, NOTHING(tally_builder_freq(bad, 1)));
ANSWERS(tally_builder_disabled, ANYWHERE, NOTHING(tally_builder_disabled(bad)));
ANSWERS(tally_builder_inherit, ANYWHERE, NOTHING(tally_builder_inherit(bad)));
ANSWERS(tally_builder_inherit_thread, ANYWHERE, NOTHING(tally_builder_inherit_thread(bad)));
ANSWERS(tally_builder_pinned, ANYWHERE, NOTHING(tally_builder_pinned(bad)));
ANSWERS(tally_builder_exclusive, ANYWHERE, NOTHING(tally_builder_exclusive(bad)));
ANSWERS(tally_builder_exclude, ANYWHERE, NOTHING(tally_builder_exclude(bad, 0)));
ANSWERS(tally_builder_precise, ANYWHERE, NOTHING(tally_builder_precise(bad, 0)));
ANSWERS(tally_builder_require, ANYWHERE, NOTHING(tally_builder_require(bad)));
ANSWERS(tally_builder_queue, ANYWHERE, NOTHING(tally_builder_queue(bad, 1)));
ANSWERS(tally_builder_max_rate, ANYWHERE, NOTHING(tally_builder_max_rate(bad, 1)));
ANSWERS(tally_builder_budget, ANYWHERE, NOTHING(tally_builder_budget(bad, 1, NSEC_PER_SEC)));
ANSWERS(tally_builder_one_shot, ANYWHERE, NOTHING(tally_builder_one_shot(bad)));
ANSWERS(tally_builder_sample_time, ANYWHERE, NOTHING(tally_builder_sample_time(bad)));
ANSWERS(tally_builder_branches, ANYWHERE, NOTHING(tally_builder_branches(bad, 1)));
ANSWERS(tally_builder_ring, ANYWHERE, NOTHING(tally_builder_ring(bad, 4096, 0)));
ANSWERS(tally_builder_sample_type, ANYWHERE, NOTHING(tally_builder_sample_type(bad, 1)));
ANSWERS(tally_builder_enable_on_exec, ANYWHERE, NOTHING(tally_builder_enable_on_exec(bad)));
ANSWERS(tally_builder_remove_on_exec, ANYWHERE, NOTHING(tally_builder_remove_on_exec(bad)));
ANSWERS(tally_builder_sigtrap, ANYWHERE, NOTHING(tally_builder_sigtrap(bad, 0)));
ANSWERS(tally_builder_weak, ANYWHERE, NOTHING(tally_builder_weak(bad)));
ANSWERS(tally_builder_why, ANYWHERE, *tally_builder_why(bad));
ANSWERS(tally_build, ASLEEP, EINVAL_FROM(PTR_ERR(tally_build(bad))));
ANSWERS(tally_event_enable, ASLEEP, EINVAL_FROM(tally_event_enable(bad)));
ANSWERS(tally_event_disable, ASLEEP, NOTHING(tally_event_disable(bad)));
ANSWERS(tally_event_reset, ASLEEP, NOTHING(tally_event_reset(bad)));
ANSWERS(tally_event_read, ASLEEP,
	EINVAL_FROM(tally_event_read(bad, &count)) &&
	EINVAL_FROM(tally_event_read(ev, bad)));
ANSWERS(tally_event_read_scaled, ASLEEP,
	EINVAL_FROM(tally_event_read_scaled(bad, &count, &value)) &&
	EINVAL_FROM(tally_event_read_scaled(ev, bad, &value)) &&
	EINVAL_FROM(tally_event_read_scaled(ev, &count, bad)));
ANSWERS(tally_event_read_cpu, ASLEEP,
	EINVAL_FROM(tally_event_read_cpu(bad, 0, &count)) &&
	EINVAL_FROM(tally_event_read_cpu(ev, 0, bad)));
ANSWERS(tally_event_read_local, ANYWHERE,
	EINVAL_FROM(tally_event_read_local(bad, &value)) &&
	EINVAL_FROM(tally_event_read_local(ev, bad)));
ANSWERS(tally_event_read_local_count, ANYWHERE,
	EINVAL_FROM(tally_event_read_local_count(bad, &count)) &&
	EINVAL_FROM(tally_event_read_local_count(ev, bad)));
ANSWERS(tally_event_publish, ASLEEP, EINVAL_FROM(tally_event_publish(bad, NSEC_PER_SEC)));
ANSWERS(tally_event_published, ANYWHERE,
	EINVAL_FROM(tally_event_published(bad, -1, &count, &value)) &&
	EINVAL_FROM(tally_event_published(ev, -1, bad, &value)) &&
	EINVAL_FROM(tally_event_published(ev, -1, &count, bad)));
ANSWERS(tally_event_state, ASLEEP, tally_event_state(bad) == TALLY_STATE_ERROR);
ANSWERS(tally_event_name, ANYWHERE, !*tally_event_name(bad));
ANSWERS(tally_event_set_period, ASLEEP, EINVAL_FROM(tally_event_set_period(bad, 1)));
ANSWERS(tally_event_period, ASLEEP, !tally_event_period(bad, 0));
ANSWERS(tally_event_precise, ANYWHERE, !tally_event_precise(bad));
ANSWERS(tally_event_refresh, ASLEEP, EINVAL_FROM(tally_event_refresh(bad, 1)));
ANSWERS(tally_event_rearm, ANYWHERE, EINVAL_FROM(tally_event_rearm(bad, 1)));
ANSWERS(tally_event_reload, ANYWHERE, EINVAL_FROM(tally_event_reload(bad, 1)));
ANSWERS(tally_event_budget, ANYWHERE,
	EINVAL_FROM(tally_event_budget(bad, 0, &budget)) &&
	EINVAL_FROM(tally_event_budget(ev, 0, bad)));
ANSWERS(tally_event_budget_used, ANYWHERE,
	EINVAL_FROM(tally_event_budget_used(bad, &value)) &&
	EINVAL_FROM(tally_event_budget_used(ev, bad)));
ANSWERS(tally_event_modify, ASLEEP,
	EINVAL_FROM(tally_event_modify(bad, 0, 8, HW_BREAKPOINT_W)));
ANSWERS(tally_event_overflow_stats, ASLEEP,
	EINVAL_FROM(tally_event_overflow_stats(bad, &stats)) &&
	EINVAL_FROM(tally_event_overflow_stats(ev, bad)));
ANSWERS(tally_event_release, ANYWHERE, !tally_event_release(bad));
ANSWERS(tally_ring_read, ASLEEP,
	EINVAL_FROM(tally_ring_read(bad, -1, buf, sizeof(buf))) &&
	EINVAL_FROM(tally_ring_read(ev, -1, bad, sizeof(buf))));
ANSWERS(tally_ring_wait, ASLEEP, EINVAL_FROM(tally_ring_wait(bad, 1)));
ANSWERS(tally_event_snapshot, ANYWHERE, EINVAL_FROM(tally_event_snapshot(bad)));
ANSWERS(tally_snapshot_read, ASLEEP,
	EINVAL_FROM(tally_snapshot_read(bad, -1, buf, sizeof(buf))) &&
	EINVAL_FROM(tally_snapshot_read(ev, -1, bad, sizeof(buf))));
ANSWERS(tally_event_resume, ASLEEP, EINVAL_FROM(tally_event_resume(bad)));
ANSWERS(tally_set_build, ASLEEP, EINVAL_FROM(PTR_ERR(tally_set_build(bad, 1))));
ANSWERS(tally_set_failed, ANYWHERE, tally_set_failed(bad, 1) == -1);
ANSWERS(tally_set_enable, ASLEEP, EINVAL_FROM(tally_set_enable(bad)));
ANSWERS(tally_set_disable, ASLEEP, NOTHING(tally_set_disable(bad)));
ANSWERS(tally_set_reset, ASLEEP, NOTHING(tally_set_reset(bad)));
ANSWERS(tally_set_read, ASLEEP,
	NOTHING(tally_set_read(bad, &window, &count)) &&
	NOTHING(tally_set_read(set, bad, &count)) &&
	NOTHING(tally_set_read(set, &window, bad)));
ANSWERS(tally_set_read_cpu, ASLEEP,
	EINVAL_FROM(tally_set_read_cpu(bad, 0, &window, &count)) &&
	EINVAL_FROM(tally_set_read_cpu(set, 0, bad, &count)) &&
	EINVAL_FROM(tally_set_read_cpu(set, 0, &window, bad)));
ANSWERS(tally_set_read_local, ANYWHERE,
	EINVAL_FROM(tally_set_read_local(bad, &window, &count)) &&
	EINVAL_FROM(tally_set_read_local(set, bad, &count)) &&
	EINVAL_FROM(tally_set_read_local(set, &window, bad)));
ANSWERS(tally_set_publish, ASLEEP, EINVAL_FROM(tally_set_publish(bad, NSEC_PER_SEC)));
ANSWERS(tally_set_published, ANYWHERE,
	EINVAL_FROM(tally_set_published(bad, -1, &count, &value)) &&
	EINVAL_FROM(tally_set_published(set, -1, bad, &value)) &&
	EINVAL_FROM(tally_set_published(set, -1, &count, bad)));
ANSWERS(tally_section_begin, ANYWHERE,
	EINVAL_FROM(tally_section_begin(bad, &part.section)) &&
	EINVAL_FROM(tally_section_begin(set, &((struct part *)bad)->section)));
ANSWERS(tally_section_end, ANYWHERE,
	EINVAL_FROM(tally_section_end(bad, &part.section, &value)) &&
	EINVAL_FROM(tally_section_end(set, &((struct part *)bad)->section, &value)) &&
	EINVAL_FROM(tally_section_end(set, &part.section, (u64 *)bad)));
ANSWERS(tally_set_size, ANYWHERE, !tally_set_size(bad));
ANSWERS(tally_set_event, ANYWHERE, !tally_set_event(bad, 0));
ANSWERS(tally_set_release, ANYWHERE, !tally_set_release(bad));
ANSWERS(tally_func_build, ASLEEP,
	EINVAL_FROM(PTR_ERR(tally_func_build(bad, 1, "x"))) &&
	EINVAL_FROM(PTR_ERR(tally_func_build(b, 1, bad))));
ANSWERS(tally_func_read, ANYWHERE,
	EINVAL_FROM(tally_func_read(bad, &func_stats, &value)));
ANSWERS(tally_func_release, ASLEEP, NOTHING(tally_func_release(bad)));
ANSWERS(tally_count_scaled, ANYWHERE, !tally_count_scaled(bad));
ANSWERS(tally_state_name, ANYWHERE, bad || *tally_state_name(99));
